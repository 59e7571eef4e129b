// factors[i] = (1 / norm^2, 1 - lr decay, lr shape_factor / norm, 0), or (1 / norm^2, 1, 0, 0) if clip == 0,
//   for each matrix X_i, with its Frobenius norm computed from the Gram matrix: norm = max(sqrt(trace(X_i
//   X_i^T)), epsilon).
// Source: as muon_momentum.wgsl; epsilon 1e-7 as torch.optim.Muon; decoupled weight decay.
// Bindings: gram read: matrix i (size, size) from gram[i stride] on; hyper read: mu, lr, decay, unused, then
//   the shape_factor of matrix i at 4 + first + i; clip read: factor at 0, see clip_factor.wgsl; factors
//   write, from factors[first] on.
// Grid: one workgroup of LANES lanes per matrix. Numerics: f32; per lane, then over lanes.
struct Params { size: u32, stride: u32, count: u32, first: u32 }

@group(0) @binding(0) var<storage, read> gram: array<f32>;
@group(0) @binding(1) var<storage, read> hyper: array<f32>;
@group(0) @binding(2) var<storage, read> clip: array<f32>;
@group(0) @binding(3) var<storage, read_write> factors: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

const EPSILON = 1e-7f;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let matrix = group.y * groups.x + group.x;
  if (matrix >= params.count) { return; }
  var sum = 0f;
  for (var i = lane; i < params.size; i += LANES) {
    sum += gram[matrix * params.stride + i * (params.size + 1u)];
  }
  let norm = max(sqrt(lane_sum(sum, lane)), EPSILON);
  let is_skipped = clip[0] == 0f;
  let keep = select(1f - hyper[1] * hyper[2], 1f, is_skipped);
  let step = select(hyper[1] * hyper[4u + params.first + matrix] / norm, 0f, is_skipped);
  if (lane == 0u) { factors[params.first + matrix] = vec4f(1f / (norm * norm), keep, step, 0f); }
}
