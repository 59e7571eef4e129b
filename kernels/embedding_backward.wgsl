// d_table[v, :] += sum over the rows r with tokens[r] == v of dx[r, :]
// Bindings: token_rows (V + 1 + rows) read: the rows in the order of their tokens, those of token v at the indexes
//   token_rows[v] .. token_rows[v + 1] - 1; dx (rows, width) read; d_table (V, width) read and write.
// Grid: x = V, y = ceil(width / (16 LANES)): a workgroup of LANES lanes has one token and 4 vec4 columns a lane.
// Numerics: f32, rows ascending; no atomics, so results are bit-identical in every run.
// Limits: width % 4 == 0.
struct Params { width: u32 }

@group(0) @binding(0) var<storage, read> token_rows: array<u32>;
@group(0) @binding(1) var<storage, read> dx: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> d_table: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

fn add_sum(row: u32, column: u32, sum: vec4f) {
  if (column < params.width / 4u) { d_table[row + column] += sum; }
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let token = group.x;
  let end = token_rows[token + 1u];
  let width4 = params.width / 4u;
  let first = group.y * 4u * LANES + lane;
  let columns = min(vec4u(first, first + LANES, first + 2u * LANES, first + 3u * LANES), vec4u(width4 - 1u));
  var sums = mat4x4f();
  for (var i = token_rows[token]; i < end; i++) {
    let at = vec4u(token_rows[i] * width4) + columns;
    sums += mat4x4f(dx[at.x], dx[at.y], dx[at.z], dx[at.w]);
  }
  add_sum(token * width4, first, sums[0]);
  add_sum(token * width4, first + LANES, sums[1]);
  add_sum(token * width4, first + 2u * LANES, sums[2]);
  add_sum(token * width4, first + 3u * LANES, sums[3]);
}
