// How the optimizer treats this step, from the sum of squares of all gradients:
//   out[0] = min(1, max_norm / norm), or 0 if the norm is not finite: the step is then skipped;
//   out[1] = norm = sqrt(sum_of_squares).
// If SCALED, the gradients are loss_scale[0] times too large, so norm and out[0] are divided by it. A skipped
// step halves the scale, down to min_scale; growth_steps consecutive steps without a skip double it, up to
// max_scale.
// Source: Pascanu et al., On the difficulty of training recurrent neural networks, ICML 2013, algorithm 1; Micikevicius
//   et al., Mixed Precision Training, ICLR 2018, section 3.2 (loss scaling).
// Bindings: sum_of_squares (1) read; out (2) write; loss_scale (2) read and write if SCALED: the scale, a power
//   of 2, and the number of consecutive steps not skipped since it was set.
// Grid: one thread. Numerics: finiteness is read from the exponent bits, since WGSL may assume that there is no NaN.
struct Params { max_norm: f32, min_scale: f32, max_scale: f32, growth_steps: f32 }

override SCALED: bool = false;

@group(0) @binding(0) var<storage, read> sum_of_squares: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read_write> loss_scale: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

const EXPONENT_BITS = 0x7f800000u;

// Sets the scale of the next step.
fn update_scale(is_finite: bool) {
  let scale = loss_scale[0];
  if (!is_finite) {
    loss_scale[0] = max(scale * 0.5f, params.min_scale);
    loss_scale[1] = 0f;
    return;
  }
  let good_steps = loss_scale[1] + 1f;
  let grows = good_steps >= params.growth_steps;
  loss_scale[0] = select(scale, min(scale * 2f, params.max_scale), grows);
  loss_scale[1] = select(good_steps, 0f, grows);
}

@compute @workgroup_size(1)
fn main() {
  let square = sum_of_squares[0];
  let is_finite = (bitcast<u32>(square) & EXPONENT_BITS) != EXPONENT_BITS;
  var norm = sqrt(square);
  var unscale = 1f;
  if (SCALED) {
    unscale = 1f / loss_scale[0];
    norm *= unscale;
    update_scale(is_finite);
  }
  out[1] = norm;
  if (is_finite) {
    out[0] = params.max_norm / max(norm, params.max_norm) * unscale;
  } else {
    out[0] = 0f;
  }
}
