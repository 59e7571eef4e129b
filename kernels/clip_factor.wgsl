// The optimizer's treatment of this step, from the sum of squares of all gradients:
//   out[0] = min(1, max_norm / norm), or 0 if the norm is not finite: the step is then skipped;
//   out[1] = norm = sqrt(sum_of_squares); out[2] += 1 if skipped; out[3] = consecutive skipped steps up to now.
// If SCALED, the gradients are loss_scale[0] times too large: norm and out[0] are divided by it. A skipped step halves
// it, down to min_scale; growth_steps consecutive steps that are not skipped double it, up to max_scale. While it is
// larger than min_scale, skipped steps are not counted in out[3], since the next step has another scale.
// Source: Pascanu et al., On the difficulty of training recurrent neural networks, ICML 2013, algorithm 1; Micikevicius
//   et al., Mixed Precision Training, ICLR 2018, section 3.2 (loss scaling).
// Bindings: sum_of_squares (1) read; out (4) read and write; loss_scale (2) read and write if SCALED: the scale, a power
//   of 2, and the number of consecutive steps not skipped since it was set.
// Grid: one thread. Numerics: finiteness is read from the exponent bits, since WGSL may assume that there is no NaN.
struct Params { max_norm: f32, min_scale: f32, max_scale: f32, growth_steps: f32 }

override SCALED: bool = false;

@group(0) @binding(0) var<storage, read> sum_of_squares: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read_write> loss_scale: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

const EXPONENT_BITS = 0x7f800000u;

// Sets the scale of the next step; returns whether this one is skipped and another scale is left to try.
fn update_scale(is_finite: bool) -> bool {
  let scale = loss_scale[0];
  if (!is_finite) {
    let half = max(scale * 0.5f, params.min_scale);
    loss_scale[0] = half;
    loss_scale[1] = 0f;
    return half > params.min_scale;
  }
  let good_steps = loss_scale[1] + 1f;
  let grows = good_steps >= params.growth_steps;
  loss_scale[0] = select(scale, min(scale * 2f, params.max_scale), grows);
  loss_scale[1] = select(good_steps, 0f, grows);
  return false;
}

@compute @workgroup_size(1)
fn main() {
  let square = sum_of_squares[0];
  let is_finite = (bitcast<u32>(square) & EXPONENT_BITS) != EXPONENT_BITS;
  var norm = sqrt(square);
  var unscale = 1f;
  var tries_again = false;
  if (SCALED) {
    unscale = 1f / loss_scale[0];
    norm *= unscale;
    tries_again = update_scale(is_finite);
  }
  out[1] = norm;
  if (is_finite) {
    out[0] = params.max_norm / max(norm, params.max_norm) * unscale;
    out[3] = 0f;
  } else {
    out[0] = 0f;
    out[2] += 1f;
    if (!tries_again) { out[3] += 1f; }
  }
}
