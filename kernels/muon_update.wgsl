// parameter = parameter (1 - lr decay) - lr shape_factor x; nothing changes if clip == 0.
// Source: as muon_momentum.wgsl; decoupled weight decay, shape_factor = sqrt(max(1, rows / columns)).
// Bindings: x read, from x[first4] on; hyper (4) read: mu, lr, decay, unused; clip read: factor at 0, see clip_factor.wgsl;
//   parameter (length) read and write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32, first4: u32, shape_factor: f32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> hyper: array<f32>;
@group(0) @binding(2) var<storage, read> clip: array<f32>;
@group(0) @binding(3) var<storage, read_write> parameter: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  if (clip[0] == 0f) { return; }
  let keep = 1f - hyper[1] * hyper[2];
  let step = hyper[1] * params.shape_factor;
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    parameter[i] = parameter[i] * keep - step * x[params.first4 + i];
  }
}
