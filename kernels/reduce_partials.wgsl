// partials[first + g] = the sum of x (or of x^2 if SQUARE) over the g-th of num_partials equal parts of x.
// First of two passes: parts by workgroups, then their sum by a second dispatch of this kernel with one workgroup.
// Bindings: x (length) read; partials write: num_partials from `first` on, which accumulate == 1 adds to.
// Grid: num_partials workgroups of LANES lanes, by gridOf. Numerics: f32; per lane, then over lanes: a fixed order.
// Limits: x is allocated for a multiple of 4 elements (like every tensor); elements beyond length are ignored.
struct Params { length: u32, first: u32, num_partials: u32, accumulate: u32 }

override SQUARE: bool = false;
// Loads that a lane has in flight.
override LOADS: u32 = 1u;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> partials: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

fn term(v: vec4f) -> vec4f {
  if (SQUARE) { return v * v; }
  return v;
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let part = group.y * groups.x + group.x;
  if (part >= params.num_partials) { return; }
  let length4 = (params.length + 3u) / 4u;
  let part4 = (length4 + params.num_partials - 1u) / params.num_partials;
  let whole4 = params.length / 4u;
  let at = params.first + part;
  var sums = vec4f();
  let end = min((part + 1u) * part4, whole4);
  for (var i = part * part4 + lane; i < end; i += LOADS * LANES) {
    var values = array<vec4f, LOADS>();
    for (var k = 0u; k < LOADS; k++) { // unrolled
      values[k] = x[min(i + k * LANES, end - 1u)];
    }
    for (var k = 0u; k < LOADS; k++) { // unrolled
      if (i + k * LANES < end) { sums += term(values[k]); }
    }
  }
  // The last, incomplete vec4.
  if (part == params.num_partials - 1u && lane == 0u && whole4 < length4) {
    sums += select(vec4f(), term(x[whole4]), vec4u(0u, 1u, 2u, 3u) < vec4u(params.length % 4u));
  }
  let total = lane_sum(dot(sums, vec4f(1f)), lane);
  if (lane == 0u) {
    if (params.accumulate == 1u) {
      partials[at] += total;
    } else {
      partials[at] = total;
    }
  }
}
