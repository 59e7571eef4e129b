// Activations f and their derivatives, for the epilogues of the matrix products: relu(x)^2 (ACTIVATION 0), GELU by its
// tanh form (1), SiLU x / (1 + exp(-x)) (2).
// Sources: So et al., Primer, NeurIPS 2021 (relu^2); Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv
//   1606.08415, section 2; Elfwing et al., Neural Networks 107 (2018) (SiLU).
// Numerics: f32; the argument of exp is at most 0 and that of tanh within [-10, 10], so nothing overflows.
override ACTIVATION: u32 = 0;

const SQRT_2_OVER_PI = 0.7978845608f;
const GELU_CUBIC = 0.044715f;

fn activation(x: vec4f) -> vec4f {
  if (ACTIVATION == 0u) {
    let r = max(x, vec4f(0f));
    return r * r;
  }
  if (ACTIVATION == 1u) {
    let t = clamp(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x), vec4f(-10f), vec4f(10f));
    return 0.5f * x * (1f + tanh(t));
  }
  let power = exp(-abs(x));
  return x * select(power, vec4f(1f), x >= vec4f(0f)) / (1f + power);
}

fn activation_slope(x: vec4f) -> vec4f {
  if (ACTIVATION == 0u) {
    return 2f * max(x, vec4f(0f));
  }
  if (ACTIVATION == 1u) {
    let t = tanh(clamp(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x), vec4f(-10f), vec4f(10f)));
    let inner = SQRT_2_OVER_PI * (1f + 3f * GELU_CUBIC * x * x);
    return 0.5f * (1f + t) + 0.5f * x * (1f - t * t) * inner;
  }
  let power = exp(-abs(x));
  let sigmoid = select(power, vec4f(1f), x >= vec4f(0f)) / (1f + power);
  return sigmoid * (1f + x * (1f - sigmoid));
}
