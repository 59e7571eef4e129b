// g = clip gradient; momentum += (1 - mu) (g - momentum); x = g + mu (momentum - g): Nesterov's momentum in Muon's form.
// Source: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024; the form of torch.optim.Muon.
// Bindings: gradient (length) read; hyper read: mu at 0, see muon_factors.wgsl; clip read: factor at 0, see
//   clip_factor.wgsl; momentum (length) read and write, unchanged if clip == 0; x (length) write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH per thread, 64 apart. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32 }

@group(0) @binding(0) var<storage, read> gradient: array<vec4f>;
@group(0) @binding(1) var<storage, read> hyper: array<f32>;
@group(0) @binding(2) var<storage, read> clip: array<f32>;
@group(0) @binding(3) var<storage, read_write> momentum: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let factor = clip[0];
  let mu = hyper[0];
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    if (factor == 0f) {
      // The gradient may contain NaN. The update will be skipped, so x only has to be finite.
      x[i] = momentum[i];
      continue;
    }
    let g = gradient[i] * factor;
    let m = momentum[i] + (1f - mu) * (g - momentum[i]);
    momentum[i] = m;
    x[i] = g + mu * (m - g);
  }
}
