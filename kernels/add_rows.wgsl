// x[r, :] += sum over k < ROWS_PER_TOKEN of table[indexes[r ROWS_PER_TOKEN + k], :],
//   for indexes below table_rows
// Bindings: indexes (rows, ROWS_PER_TOKEN) read; table (table_rows, width) read; x (rows, width) read and write.
// Grid: one workgroup of LANES lanes per row. Numerics: f32, k ascending.
// Limits: width % 4 == 0.
struct Params { rows: u32, width: u32, table_rows: u32 }

override ROWS_PER_TOKEN: u32 = 1u;

@group(0) @binding(0) var<storage, read> indexes: array<u32>;
@group(0) @binding(1) var<storage, read> table: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  for (var k = 0u; k < ROWS_PER_TOKEN; k++) {
    let index = indexes[row * ROWS_PER_TOKEN + k];
    if (index >= params.table_rows) { continue; }
    for (var i = lane; i < width4; i += LANES) {
      x[row * width4 + i] += table[index * width4 + i];
    }
  }
}
