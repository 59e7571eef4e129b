// d_table[v, :] += sum over the rows r with tokens[r] == v of dx[r, :]
// Bindings: tokens (rows) read; dx (rows, width) read; d_table (vocabulary, width) read and write.
// Grid: x = vocabulary, y = ceil(width / (16 LANES)): a workgroup of LANES lanes has one token and 4 vec4 columns a lane.
//   The lanes look for the token in 4 LANES rows at once; only where one finds it do all add the rows that have it.
// Numerics: f32, rows ascending; no atomics, so the same bits at every run.
// Limits: width % 4 == 0; tokens are read four at a time, so their binding holds a multiple of 4.
struct Params { rows: u32, width: u32 }

@group(0) @binding(0) var<storage, read> tokens: array<vec4u>;
@group(0) @binding(1) var<storage, read> dx: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> d_table: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

const ROWS_PER_LANE = 4u;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let token = group.x;
  let width4 = params.width / 4u;
  let first = group.y * 4u * LANES + lane;
  let columns = min(vec4u(first, first + LANES, first + 2u * LANES, first + 3u * LANES), vec4u(width4 - 1u));
  var sums = mat4x4f();
  for (var block = 0u; block < params.rows; block += ROWS_PER_LANE * LANES) {
    let mine = block + lane * ROWS_PER_LANE;
    // What lies beyond the last row is some token or none; it is not summed below.
    let found = mine < params.rows && any(tokens[mine / 4u] == vec4u(token));
    if (lane_max(f32(found), lane) > 0f) {
      for (var row = block; row < min(block + ROWS_PER_LANE * LANES, params.rows); row++) {
        if (tokens[row / 4u][row % 4u] == token) {
          let at = vec4u(row * width4) + columns;
          sums += mat4x4f(dx[at.x], dx[at.y], dx[at.z], dx[at.w]);
        }
      }
    }
  }
  for (var i = 0u; i < 4u; i++) {
    let column = first + i * LANES;
    if (column < width4) { d_table[token * width4 + column] += sums[i]; }
  }
}
