// y = x, except for the 2nd and the 4th quarter of each head, which come from another token:
// y[r, h, d] = earlier[previous[r], h, d] there.
// Source: the "partial key offset" of modded-nanogpt (github.com/KellerJordan/modded-nanogpt, records of
//   2025): a key that contains a part of the previous token lets one block find the successor of a token
//   (Olsson et al., In-context Learning and Induction Heads, 2022, "smeared keys").
// Bindings: x (rows, H, D) read; earlier (any, H, D) read, may be x; previous (rows) read; y (rows, H, D) write.
// Grid: workgroups of 64 threads over the vec4, BATCH per thread, 64 apart. Numerics: a copy.
// Limits: D % 16 == 0; previous[r] is a row of earlier.
struct Params { num_vec4: u32, row_vec4: u32, quarter_vec4: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> earlier: array<vec4f>;
@group(0) @binding(2) var<storage, read> previous: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.num_vec4);
  for (var i = start; i < end; i += 64u) {
    let column = i % params.row_vec4;
    if (column / params.quarter_vec4 % 2u == 1u) {
      y[i] = earlier[previous[i / params.row_vec4] * params.row_vec4 + column];
    } else {
      y[i] = x[i];
    }
  }
}
