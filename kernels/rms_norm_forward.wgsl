// y[r, :] = x[r, :] / sqrt(mean(x[r, :]^2) + eps), eps = 2^-23 (the epsilon of float32), no learned scale.
// Source: Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019.
// Bindings: x (rows, width) read; y (rows, width) write; scale (rows) write: 1 / sqrt(…), for the backward pass.
// Grid: workgroups of GROUP_SIZE / LANES rows. Numerics: f32; sum of squares per lane, then over lanes.
// Limits: width % 4 == 0; rows <= 65535 * 65535 through a two-dimensional grid.
struct Params { rows: u32, width: u32 }

// How many vec4 of a row a lane keeps in registers between the sum and the result, at most ceil(width / (4
// LANES)); the others are read twice.
override NUM_KEPT: u32 = 1u;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> scale: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

const EPSILON = 1.1920929e-7f;

@compute @workgroup_size(GROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let row = row_of(group.y * groups.x + group.x, thread);
  if (row >= params.rows) { return; }
  let lane = thread % LANES;
  let width4 = params.width / 4u;
  let base = row * width4;
  var kept = array<vec4f, max(1u, NUM_KEPT)>();
  for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
    kept[k] = x[base + min(lane + k * LANES, width4 - 1u)];
  }
  var sum = 0f;
  for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
    if (lane + k * LANES < width4) { sum += dot(kept[k], kept[k]); }
  }
  for (var i = lane + NUM_KEPT * LANES; i < width4; i += LANES) {
    let v = x[base + i];
    sum += dot(v, v);
  }
  let s = inverseSqrt(lane_sum(sum, lane) / f32(params.width) + EPSILON);
  for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
    let i = lane + k * LANES;
    if (i < width4) { y[base + i] = kept[k] * s; }
  }
  for (var i = lane + NUM_KEPT * LANES; i < width4; i += LANES) {
    y[base + i] = x[base + i] * s;
  }
  if (lane == 0u) { scale[row] = s; }
}
