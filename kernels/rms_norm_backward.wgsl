// dx[r, :] (+)= s (dy[r, :] - x[r, :] s^2 mean(x[r, :] dy[r, :])) for y = s x, s = 1 / sqrt(mean(x^2) + eps).
// Source: the derivative of Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019, equation 4.
// Bindings: x, dy (rows, width) read; scale (rows) read: s of the forward pass; dx (rows, width) write, also read if
//   accumulate == 1.
// Grid: workgroups of GROUP_SIZE / LANES rows. Numerics: f32; x dy is summed per lane, then over lanes.
// Limits: width % 4 == 0; rows <= 65535 * 65535 through a two-dimensional grid.
struct Params { rows: u32, width: u32, accumulate: u32 }

// As in rms_norm_forward.wgsl, for each of x, dy and dx.
override NUM_KEPT: u32 = 1u;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> dy: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(GROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let row = row_of(group.y * groups.x + group.x, thread);
  if (row >= params.rows) { return; }
  let lane = thread % LANES;
  let width4 = params.width / 4u;
  let base = row * width4;
  let s = scale[row];
  var kept_x = array<vec4f, max(1u, NUM_KEPT)>();
  var kept_dy = array<vec4f, max(1u, NUM_KEPT)>();
  var before = array<vec4f, max(1u, NUM_KEPT)>();
  for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
    let i = base + min(lane + k * LANES, width4 - 1u);
    kept_x[k] = x[i];
    kept_dy[k] = dy[i];
  }
  if (params.accumulate == 1u) {
    for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
      before[k] = dx[base + min(lane + k * LANES, width4 - 1u)];
    }
  }
  var sum = 0f;
  for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
    if (lane + k * LANES < width4) { sum += dot(kept_x[k], kept_dy[k]); }
  }
  for (var i = lane + NUM_KEPT * LANES; i < width4; i += LANES) {
    sum += dot(x[base + i], dy[base + i]);
  }
  let slope = lane_sum(sum, lane) / f32(params.width) * s * s;
  for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
    let i = lane + k * LANES;
    if (i < width4) { dx[base + i] = (kept_dy[k] - kept_x[k] * slope) * s + before[k]; }
  }
  for (var i = base + lane + NUM_KEPT * LANES; i < base + width4; i += LANES) {
    var value = (dy[i] - x[i] * slope) * s;
    if (params.accumulate == 1u) { value += dx[i]; }
    dx[i] = value;
  }
}
