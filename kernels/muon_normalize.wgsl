// y = x / max(norm, epsilon) for each matrix of a stack, norm = sqrt(sum_of_squares): the Frobenius norm bounds the largest singular value by 1.
// Source: as muon_momentum.wgsl; epsilon 1e-7 as torch.optim.Muon.
// Bindings: x (count, length) read; sum_of_squares (count) read; y (count, length) write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart, times z = count. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> sum_of_squares: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

const BATCH = 8u;
const EPSILON = 1e-7f;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let factor = 1f / max(sqrt(sum_of_squares[group.z]), EPSILON);
  let first = group.z * (params.length / 4u);
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    y[first + i] = x[first + i] * factor;
  }
}
