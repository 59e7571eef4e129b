// One step of AdamW for some rows of a table; the others do not change. For each slot s < slot_rows[0] with
//   row r = slot_rows[1 + s] and t = num_updates[r] + 1: g = clip gradient[s, :]; m += (1 - beta1) (g - m);
//   v += (1 - beta2) (g^2 - v);
//   p = p (1 - lr decay) - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon); num_updates[r] = t.
//   Nothing changes if clip == 0.
// Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2, except that t
//   counts the row's updates, so its moments are corrected as if it were updated in every step.
// Bindings: slot_rows (1 + S) read; gradient (S, width) read; hyper (8) read: as in adamw.wgsl, except for the corrections;
//   clip read: factor at 0, see clip_factor.wgsl; parameter, exp_avg (m), exp_avg_sq (v) (R, width) and num_updates (R)
//   read and write.
// Grid: one workgroup of LANES lanes per slot. Numerics: f32; beta^t by pow, so t is exact up to 2^24.
// Limits: width % 4 == 0; no row has two slots.
struct Params { width: u32, slots: u32 }

@group(0) @binding(0) var<storage, read> slot_rows: array<u32>;
@group(0) @binding(1) var<storage, read> gradient: array<vec4f>;
@group(0) @binding(2) var<storage, read> hyper: array<f32>;
@group(0) @binding(3) var<storage, read> clip: array<f32>;
@group(0) @binding(4) var<storage, read_write> parameter: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> exp_avg: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> exp_avg_sq: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> num_updates: array<f32>;
@group(0) @binding(8) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let slot = group.y * groups.x + group.x;
  let factor = clip[0];
  if (slot >= min(slot_rows[0], params.slots) || factor == 0f) { return; }
  let row = slot_rows[1u + slot];
  let t = num_updates[row] + 1f;
  storageBarrier();
  if (lane == 0u) { num_updates[row] = t; }
  let lr = hyper[0];
  let rest1 = 1f - hyper[1];
  let rest2 = 1f - hyper[2];
  let epsilon = hyper[3];
  let keep = 1f - lr * hyper[4];
  let step = lr / (1f - pow(hyper[1], t));
  let root_correction2 = inverseSqrt(1f - pow(hyper[2], t));
  let width4 = params.width / 4u;
  for (var column = lane; column < width4; column += LANES) {
    let i = row * width4 + column;
    let g = gradient[slot * width4 + column] * factor;
    let m = exp_avg[i] + rest1 * (g - exp_avg[i]);
    let v = exp_avg_sq[i] + rest2 * (g * g - exp_avg_sq[i]);
    let p = parameter[i];
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    parameter[i] = p * keep - step * m / (sqrt(v) * root_correction2 + epsilon);
  }
}
