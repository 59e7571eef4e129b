// From the sum of squares of all gradients, what the optimizer does with this step:
//   out[0] = min(1, max_norm / norm), or 0 if the norm is not finite: the step is to be skipped;
//   out[1] = norm = sqrt(sum_of_squares); out[2] += 1 if skipped; out[3] = skipped steps in a row up to now.
// Source: Pascanu et al., On the difficulty of training recurrent neural networks, ICML 2013, algorithm 1.
// Bindings: sum_of_squares (1) read; out (4) read and write.
// Grid: one thread. Numerics: finiteness is read from the exponent bits, since WGSL may assume that there is no NaN.
struct Params { max_norm: f32 }

@group(0) @binding(0) var<storage, read> sum_of_squares: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

const EXPONENT_BITS = 0x7f800000u;

@compute @workgroup_size(1)
fn main() {
  let square = sum_of_squares[0];
  let is_finite = (bitcast<u32>(square) & EXPONENT_BITS) != EXPONENT_BITS;
  let norm = sqrt(square);
  out[1] = norm;
  if (is_finite) {
    out[0] = params.max_norm / max(norm, params.max_norm);
    out[3] = 0f;
  } else {
    out[0] = 0f;
    out[2] += 1f;
    out[3] += 1f;
  }
}
