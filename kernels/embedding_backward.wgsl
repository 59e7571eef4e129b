// d_table[v, :] += sum over the rows r with tokens[r] == v of dx[r, :]
// Bindings: token_rows (V + 1 + rows) read: the rows sorted by token; those of token v are at token_rows[v]
//   .. token_rows[v + 1] - 1; dx (rows, width) read; d_table (V, width) read and write.
// Grid: x = V, y = ceil(width / (4 COLUMNS LANES)): a workgroup of LANES lanes has one token and COLUMNS
//   columns per lane.
// Numerics: f32, rows ascending; no atomics, so results are bit-identical in every run.
// Limits: width % 4 == 0.
struct Params { width: u32 }

// vec4 columns per lane, LANES apart, and how many vec4 it reads at once, from LOADS / COLUMNS rows.
override COLUMNS: u32 = 1u;
override LOADS: u32 = 1u;

@group(0) @binding(0) var<storage, read> token_rows: array<u32>;
@group(0) @binding(1) var<storage, read> dx: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> d_table: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let token = group.x;
  let end = token_rows[token + 1u];
  let width4 = params.width / 4u;
  let column = group.y * COLUMNS * LANES + lane;
  var sums = array<vec4f, COLUMNS>();
  for (var i = token_rows[token]; i < end; i += LOADS / COLUMNS) {
    var values = array<vec4f, LOADS>();
    for (var k = 0u; k < LOADS; k++) { // unrolled
      let row = token_rows[min(i + k / COLUMNS, end - 1u)];
      values[k] = dx[row * width4 + min(column + k % COLUMNS * LANES, width4 - 1u)];
    }
    for (var k = 0u; k < LOADS; k++) { // unrolled
      if (i + k / COLUMNS < end) { sums[k % COLUMNS] += values[k]; }
    }
  }
  for (var k = 0u; k < COLUMNS; k++) { // unrolled
    let at = column + k * LANES;
    if (at < width4) { d_table[token * width4 + at] += sums[k]; }
  }
}
