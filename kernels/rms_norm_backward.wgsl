// dx[r, :] (+)= s (dy[r, :] - x[r, :] s^2 mean(x[r, :] dy[r, :])) for y = s x, s = 1 / sqrt(mean(x^2) + eps).
// Source: the derivative of Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019, equation 4.
// Bindings: x, dy (rows, width) read; scale (rows) read: s of the forward pass; dx (rows, width) write, also read if
//   accumulate == 1.
// Grid: one workgroup of LANES lanes per row. Numerics: f32; x dy is summed per lane, then over lanes.
// Limits: width % 4 == 0; rows <= 65535 * 65535 through a two-dimensional grid.
struct Params { rows: u32, width: u32, accumulate: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> dy: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  let base = row * width4;
  var sum = 0f;
  for (var i = lane; i < width4; i += LANES) {
    sum += dot(x[base + i], dy[base + i]);
  }
  let s = scale[row];
  let slope = lane_sum(sum, lane) / f32(params.width) * s * s;
  for (var i = lane; i < width4; i += LANES) {
    var value = (dy[base + i] - x[base + i] * slope) * s;
    if (params.accumulate == 1u) { value += dx[base + i]; }
    dx[base + i] = value;
  }
}
