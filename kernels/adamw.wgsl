// One step of AdamW: g = clip gradient; m += (1 - beta1) (g - m); v += (1 - beta2) (g^2 - v);
//   p = p (1 - lr decay) - lr (m / correction1) / (sqrt(v / correction2) + epsilon); nothing changes if clip == 0.
// Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2, in torch.optim's form.
// Bindings: gradient (length) read; hyper (8) read: lr, beta1, beta2, epsilon, decay, correction1 = 1 - beta1^t,
//   correction2 = 1 - beta2^t; clip read: factor at 0, see clip_factor.wgsl; parameter, exp_avg (m), exp_avg_sq (v)
//   (length) read and write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH per thread, 64 apart. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32 }

@group(0) @binding(0) var<storage, read> gradient: array<vec4f>;
@group(0) @binding(1) var<storage, read> hyper: array<f32>;
@group(0) @binding(2) var<storage, read> clip: array<f32>;
@group(0) @binding(3) var<storage, read_write> parameter: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> exp_avg: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> exp_avg_sq: array<vec4f>;
@group(0) @binding(6) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let factor = clip[0];
  if (factor == 0f) { return; }
  let lr = hyper[0];
  let rest1 = 1f - hyper[1];
  let rest2 = 1f - hyper[2];
  let epsilon = hyper[3];
  let keep = 1f - lr * hyper[4];
  let step = lr / hyper[5];
  let root_correction2 = inverseSqrt(hyper[6]);
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    let g = gradient[i] * factor;
    let m = exp_avg[i] + rest1 * (g - exp_avg[i]);
    let v = exp_avg_sq[i] + rest2 * (g * g - exp_avg_sq[i]);
    let p = parameter[i];
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    parameter[i] = p * keep - step * m / (sqrt(v) * root_correction2 + epsilon);
  }
}
