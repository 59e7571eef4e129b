// c = (or +=) the sum of the splits of a matrix product whose steps of k are divided among workgroups.
// Bindings: partials (batch, splits, length) read; c write, also read if accumulate == 1: matrix z of a batch
//   is the `length` elements from c[z stride_c] on.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH per thread, 64 apart, times z = batch.
// Numerics: f32, splits ascending, so results are bit-identical in every run.
// Limits: length % 4 == 0.
struct Params { length: u32, splits: u32, stride_c: u32, accumulate: u32 }

@group(0) @binding(0) var<storage, read> partials: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;

const BATCH = 8u;
// Number of vec4 that a thread sums at once, at most BATCH.
override LOADS: u32 = 1u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let length4 = params.length / 4u;
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, length4);
  let first = group.z * params.splits * length4;
  let first_c = group.z * params.stride_c;
  for (var i = start; i < end; i += 64u * LOADS) {
    var sums = array<vec4f, LOADS>();
    for (var split = 0u; split < params.splits; split++) {
      for (var k = 0u; k < LOADS; k++) { // unrolled
        sums[k] += partials[first + split * length4 + min(i + 64u * k, end - 1u)];
      }
    }
    if (params.accumulate == 1u) {
      for (var k = 0u; k < LOADS; k++) { // unrolled
        sums[k] += c[first_c + min(i + 64u * k, end - 1u)];
      }
    }
    for (var k = 0u; k < LOADS; k++) { // unrolled
      if (i + 64u * k < end) { c[first_c + i + 64u * k] = sums[k]; }
    }
  }
}
