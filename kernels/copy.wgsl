// y = x, between tensors of different storage formats, such as f16 copies of weights.
// Bindings: x (length) read; y (length) write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH per thread, 64 apart. Numerics: a copy.
// Limits: length % 4 == 0.
struct Params { length: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;

const BATCH = 8u;
// Loads that a thread has in flight, at most BATCH.
override LOADS: u32 = 1u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u * LOADS) {
    var values = array<vec4f, LOADS>();
    for (var k = 0u; k < LOADS; k++) { // unrolled
      values[k] = x[min(i + 64u * k, end - 1u)];
    }
    for (var k = 0u; k < LOADS; k++) { // unrolled
      if (i + 64u * k < end) { y[i + 64u * k] = values[k]; }
    }
  }
}
