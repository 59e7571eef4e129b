// x[r, :] = table[tokens[r], :]
// Bindings: tokens (rows) read; table (vocabulary, width) read; x (rows, width) write.
// Grid: one workgroup of LANES lanes per row. Numerics: a copy.
// Limits: width % 4 == 0; every token is within the table.
struct Params { rows: u32, width: u32 }

@group(0) @binding(0) var<storage, read> tokens: array<u32>;
@group(0) @binding(1) var<storage, read> table: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  let token = tokens[row];
  for (var i = lane; i < width4; i += LANES) {
    x[row * width4 + i] = table[token * width4 + i];
  }
}
