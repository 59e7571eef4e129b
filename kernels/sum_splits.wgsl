// c = the sum of the splits of a matrix product, or c += it, for products whose steps of k are divided over workgroups.
// Bindings: partials (batch, splits, length) read; c write, also read if accumulate == 1: matrix z of a batch has the
//   `length` elements from c[z stride_c] on.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart, times z = batch.
// Numerics: f32, splits ascending, so results are bit-identical in every run.
// Limits: length % 4 == 0.
struct Params { length: u32, splits: u32, stride_c: u32, accumulate: u32 }

@group(0) @binding(0) var<storage, read> partials: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let length4 = params.length / 4u;
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, length4);
  let first = group.z * params.splits * length4;
  let first_c = group.z * params.stride_c;
  for (var i = start; i < end; i += 64u) {
    var sum = partials[first + i];
    for (var split = 1u; split < params.splits; split++) {
      sum += partials[first + split * length4 + i];
    }
    if (params.accumulate == 1u) { sum += c[first_c + i]; }
    c[first_c + i] = sum;
  }
}
