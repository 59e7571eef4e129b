// dx of y = shift_keys(x, x): a row's shifted quarters went to the rows whose `previous` it is: itself or the next.
// Source: the derivative of shift_keys_forward.wgsl.
// Bindings: dy (rows, H, D) read; previous (rows) read: r or r - 1; dx (rows, H, D) write.
// Grid: workgroups of 64 threads over the vec4, BATCH of them a thread, 64 apart. Numerics: f32, a sum of two at most.
// Limits: D % 16 == 0.
struct Params { num_vec4: u32, row_vec4: u32, quarter_vec4: u32 }

@group(0) @binding(0) var<storage, read> dy: array<vec4f>;
@group(0) @binding(1) var<storage, read> previous: array<u32>;
@group(0) @binding(2) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.num_vec4);
  for (var i = start; i < end; i += 64u) {
    let row = i / params.row_vec4;
    let next = i + params.row_vec4;
    var d = dy[i];
    if (i % params.row_vec4 / params.quarter_vec4 % 2u == 1u) {
      if (previous[row] != row) { d = vec4f(0f); }
      if (next < params.num_vec4) {
        if (previous[row + 1u] == row) { d += dy[next]; }
      }
    }
    dx[i] = d;
  }
}
