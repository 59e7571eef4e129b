// The epilogue of a matrix product p: STORE c = p; ACCUMULATE c += p; ADD c = d + p; ACTIVATE c = f(p);
// ACTIVATE_KEEP also e = p; SLOPE c = p f'(d), except that for ACTIVATION 0 d is the value of f; with f
// relu(x)^2 (ACTIVATION 0), GELU by its tanh form (1), SiLU x / (1 + exp(-x)) (2); POLYNOMIAL c = 3.4445 I -
// 4.7750 d + 2.0315 p, Muon's polynomial of a Gram matrix d, whose square is p; UPDATE c = y c - z p, Muon's
// update, with (_, y, z, _) = d[first_factors + matrix of the batch]. Part of gemm_subgroup8 and gemm_tiled,
// whose bindings and parameters it uses.
// Sources: So et al., Primer, NeurIPS 2021 (relu^2); Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv
//   1606.08415, section 2; Elfwing et al., Neural Networks 107 (2018) (SiLU); Jordan et al., Muon: An optimizer for
//   hidden layers in neural networks, 2024 (the polynomial).
// Numerics: f32; the argument of exp is at most 0 and the argument of tanh within [-10, 10], so nothing
//   overflows.
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

// The slope at the argument x; for relu(x)^2, x is the value instead.
fn activation_slope(x: vec4f) -> vec4f {
  if (ACTIVATION == 0u) {
    return 2f * sqrt(max(x, vec4f(0f)));
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

const ACCUMULATE = 1u;
const ADD = 2u;
const ACTIVATE = 3u;
const ACTIVATE_KEEP = 4u;
const SLOPE = 5u;
const POLYNOMIAL = 6u;
const UPDATE = 7u;

// 4 columns of a row of the matrix that starts at c[first]; nothing past the end of the matrix.
fn store(first: u32, row: u32, column4: u32, value: vec4f) {
  if (row >= params.m || column4 >= params.n / 4u) { return; }
  let at = first + row * (params.n / 4u) + column4;
  var result = value;
  if (params.epilogue == ACCUMULATE) {
    result += c[at];
  } else if (params.epilogue == UPDATE) {
    let factors = d[params.first_factors + first / params.stride_c];
    result = factors.y * c[at] - factors.z * value;
  } else if (params.epilogue == ADD || params.epilogue >= SLOPE) {
    let other = d[at];
    result = select(other + value, value * activation_slope(other), params.epilogue == SLOPE);
    let diagonal = vec4u(4u * column4) + vec4u(0u, 1u, 2u, 3u) == vec4u(row);
    let polynomial = select(vec4f(0f), vec4f(3.4445f), diagonal) - 4.7750f * other + 2.0315f * value;
    result = select(result, polynomial, params.epilogue == POLYNOMIAL);
  } else if (params.epilogue >= ACTIVATE) {
    result = activation(value);
    if (params.epilogue == ACTIVATE_KEEP) { e[at] = value; }
  }
  // One store for all epilogues: each store costs lavapipe's compiler a tenth of a second.
  c[at] = result;
}

// For a symmetric product, whose tiles above the diagonal are skipped: the number of sides on which a tile is stored.
fn num_sides(group: vec3u) -> u32 {
  return select(1u, 2u, params.symmetric == 1u && group.x < group.y);
}

// Rows row .. row + 3 or, for side 1, their transpose on the other side of the diagonal.
fn store4(first: u32, side: u32, row: u32, column4: u32, s: mat4x4f) {
  var at = vec2u(row, column4);
  var x = s;
  if (side == 1u) {
    at = vec2u(4u * column4, row / 4u);
    x = transpose(s);
  }
  store(first, at.x, at.y, x[0]);
  store(first, at.x + 1u, at.y, x[1]);
  store(first, at.x + 2u, at.y, x[2]);
  store(first, at.x + 3u, at.y, x[3]);
}
