// dx[r, :] (+)= s (dy[r, :] - x[r, :] s^2 mean(x[r, :] dy[r, :])) for y = s x, s = 1 / sqrt(mean(x^2) + eps).
// Source: the derivative of Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019, equation 4.
// Bindings: x, dy (rows, width) read; scale (rows) read: s of the forward pass; dx (rows, width) write, also read if
//   accumulate == 1.
// Grid: one workgroup of LANES lanes per ROWS_PER_GROUP rows, one after another.
// Numerics: f32; x dy is summed per lane, then over lanes.
// Limits: width % 4 == 0; rows <= 4 * 65535 * 65535 through a two-dimensional grid.
struct Params { rows: u32, width: u32, accumulate: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> dy: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

const ROWS_PER_GROUP = 4u;
// The number of vec4 columns of a lane that stay in registers between the sum and the result; those beyond are read
// twice.
const NUM_KEPT = 4u;

fn store_dx(i: u32, of_x: vec4f, of_dy: vec4f, s: f32, slope: f32) {
  var value = (of_dy - of_x * slope) * s;
  if (params.accumulate == 1u) { value += dx[i]; }
  dx[i] = value;
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let first_row = (group.y * groups.x + group.x) * ROWS_PER_GROUP;
  let end_row = min(first_row + ROWS_PER_GROUP, params.rows);
  let width4 = params.width / 4u;
  for (var row = first_row; row < end_row; row++) {
    let first = row * width4 + lane;
    let end = (row + 1u) * width4;
    var kept_x: array<vec4f, NUM_KEPT>;
    var kept_dy: array<vec4f, NUM_KEPT>;
    var sum = 0f;
    for (var k = 0u; k < NUM_KEPT; k++) {
      let i = first + k * LANES;
      if (i < end) {
        kept_x[k] = x[i];
        kept_dy[k] = dy[i];
        sum += dot(kept_x[k], kept_dy[k]);
      }
    }
    for (var i = first + NUM_KEPT * LANES; i < end; i += LANES) {
      sum += dot(x[i], dy[i]);
    }
    let s = scale[row];
    let slope = lane_sum(sum, lane) / f32(params.width) * s * s;
    for (var k = 0u; k < NUM_KEPT; k++) {
      let i = first + k * LANES;
      if (i < end) { store_dx(i, kept_x[k], kept_dy[k], s, slope); }
    }
    for (var i = first + NUM_KEPT * LANES; i < end; i += LANES) {
      store_dx(i, x[i], dy[i], s, slope);
    }
  }
}
