// dx[r, :] (+)= s (dy[r, :] - x[r, :] s^2 mean(x[r, :] dy[r, :])) for y = s x, s = 1 / sqrt(mean(x^2) + eps).
// Source: the derivative of Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019, equation 4.
// Bindings: x, dy (rows, width) read; scale (rows) read: s of the forward pass; dx (rows, width) write, also read if
//   accumulate == 1.
// Grid: one workgroup of LANES lanes per row. Numerics: f32; x dy is summed per lane (four at a time), then over lanes.
// Limits: width % 4 == 0; rows <= 65535 * 65535 through a two-dimensional grid.
struct Params { rows: u32, width: u32, accumulate: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> dy: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

// Four vec4 of a row, LANES apart, from column i on; what lies beyond the row's end is the row's last, and `inside` is 0 for it.
fn columns(i: u32) -> vec4u {
  return min(vec4u(i, i + LANES, i + 2u * LANES, i + 3u * LANES), vec4u(params.width / 4u - 1u));
}

fn inside(i: u32) -> vec4f {
  return vec4f(vec4u(i, i + LANES, i + 2u * LANES, i + 3u * LANES) < vec4u(params.width / 4u));
}

fn products(x4: mat4x4f, dy4: mat4x4f, i: u32) -> f32 {
  return dot(vec4f(dot(x4[0], dy4[0]), dot(x4[1], dy4[1]), dot(x4[2], dy4[2]), dot(x4[3], dy4[3])), inside(i));
}

fn load_x(base: u32, i: u32) -> mat4x4f {
  let at = base + columns(i);
  return mat4x4f(x[at.x], x[at.y], x[at.z], x[at.w]);
}

fn load_dy(base: u32, i: u32) -> mat4x4f {
  let at = base + columns(i);
  return mat4x4f(dy[at.x], dy[at.y], dy[at.z], dy[at.w]);
}

fn store(at: u32, value: vec4f) {
  if (params.accumulate == 1u) { dx[at] += value; } else { dx[at] = value; }
}

fn store_columns(base: u32, i: u32, values: mat4x4f) {
  let width4 = params.width / 4u;
  if (i < width4) { store(base + i, values[0]); }
  if (i + LANES < width4) { store(base + i + LANES, values[1]); }
  if (i + 2u * LANES < width4) { store(base + i + 2u * LANES, values[2]); }
  if (i + 3u * LANES < width4) { store(base + i + 3u * LANES, values[3]); }
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  let base = row * width4;
  // The first columns, all of a narrow row, are kept: on lavapipe a load costs 40 times a product.
  let x0 = load_x(base, lane);
  let dy0 = load_dy(base, lane);
  var sum = products(x0, dy0, lane);
  for (var i = 4u * LANES; i < width4; i += 4u * LANES) {
    sum += products(load_x(base, i + lane), load_dy(base, i + lane), i + lane);
  }
  let s = scale[row];
  let slope = lane_sum(sum, lane) / f32(params.width) * s * s;
  store_columns(base, lane, (dy0 - x0 * slope) * s);
  for (var i = 4u * LANES; i < width4; i += 4u * LANES) {
    store_columns(base, i + lane, (load_dy(base, i + lane) - load_x(base, i + lane) * slope) * s);
  }
}
