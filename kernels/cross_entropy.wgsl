// losses[r] = -log softmax(z[r, :])[targets[r]] where loss_mask[r] != 0, else 0, with z = s tanh(logits / s)
// if SOFTCAP, else z = logits; and if GRADIENT, d_logits[r, :] = weight[0] * the gradient of losses[r], times
// loss_scale[0] if SCALED. Columns from vocab_size on are padding: the softmax ignores them and their
// gradient is 0. Probabilities are not stored.
// Where loss_mask[r] is 2 or 3, d_logits is multiplied by marked_weight; the written loss is not.
// If TAUGHT, where loss_mask[r] is 2 or 3, the gradient is (1 - teacher_weight) times the data's gradient,
//   including the term below, plus teacher_weight times the gradient of the cross-entropy to q = softmax(z of
//   teacher_logits[r, :]), whose s is teacher_softcap, 0 for none.
// Where loss_mask[r] is 2 or 3 and ordinal_2 or ordinal_3 is not 0, d_logits also has ordinal_i times the gradient of
// sum_j q_j |j - target| / 255, q the softmax over the 256 columns from first_byte on: the Wasserstein-1 distance between
// q and the target's point mass. The written loss is still the cross-entropy.
// Source: Gemma Team, Gemma 2, 2024, section 2 (softcap); Milakov and Gimelshein, Online normalizer calculation for
// softmax, 2018; Hou, Yu and Samaras, Squared earth mover's distance-based loss, 2016, section 3 (distance of ordered classes);
//   Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015 (teacher, at temperature 1).
// Bindings: logits (rows, stride) read; targets, loss_mask (rows) read; weight (1) read; losses (rows) write;
//   d_logits (rows, stride) write if GRADIENT; loss_scale (1) read if SCALED; teacher_logits (rows, stride) read if TAUGHT.
// Grid: one workgroup of LANES lanes per row.
// Numerics: f32, exponentials of base 2, each lane's running maximum subtracted; tanh(x) = 1 - 2 / (e^(2 x) + 1), which is
//   exact to 2^-23 absolutely and does not overflow.
// Limits: stride % 4 == 0; targets < vocab_size <= stride; rows <= 65535 * 65535 through a two-dimensional grid.
struct Params { rows: u32, vocab_size: u32, stride: u32, softcap: f32, first_byte: u32, ordinal_2: f32, ordinal_3: f32,
  marked_weight: f32, teacher_weight: f32, teacher_softcap: f32 }

override SOFTCAP: bool = true;
override GRADIENT: bool = true;
override SCALED: bool = false;
override TAUGHT: bool = false;

@group(0) @binding(0) var<storage, read> logits: array<vec4f>;
@group(0) @binding(1) var<storage, read> targets: array<u32>;
@group(0) @binding(2) var<storage, read> loss_mask: array<u32>;
@group(0) @binding(3) var<storage, read> weight: array<f32>;
@group(0) @binding(4) var<storage, read_write> losses: array<f32>;
@group(0) @binding(5) var<storage, read_write> d_logits: array<vec4f>;
@group(0) @binding(6) var<storage, read> loss_scale: array<f32>;
@group(0) @binding(7) var<storage, read> teacher_logits: array<vec4f>;
@group(0) @binding(8) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;
const LN_2 = 0.6931471805599453f;
// Below every logit, and finite, so that the difference of two is not NaN.
const PADDING = -1e30f;

// tanh(logits / s), or the logits themselves.
fn squash(x: vec4f) -> vec4f {
  if (!SOFTCAP) { return x; }
  return 1f - 2f / (exp2(x * (2f * LOG2_E / params.softcap)) + 1f);
}

// The teacher's scores: its z in units of log 2, so that 2^score = e^z.
fn teacher_scores(at: u32) -> vec4f {
  let x = teacher_logits[at];
  let s = params.teacher_softcap;
  if (s == 0f) { return x * LOG2_E; }
  return (1f - 2f / (exp2(x * (2f * LOG2_E / s)) + 1f)) * (LOG2_E * s);
}

// log2 of the sum of the teacher's 2^score over the columns of the row that starts at base.
fn teacher_log2_sum_of(base: u32, lane: u32) -> f32 {
  var largest = PADDING;
  var sum = 0f;
  for (var i = lane; i < (params.vocab_size + 3u) / 4u; i += LANES) {
    let is_column = 4u * i + vec4u(0u, 1u, 2u, 3u) < vec4u(params.vocab_size);
    let score = select(vec4f(PADDING), teacher_scores(base + i), is_column);
    let new_largest = max(largest, max(max(score.x, score.y), max(score.z, score.w)));
    let powers = exp2(score - new_largest);
    sum = fma(sum, exp2(largest - new_largest), (powers.x + powers.y) + (powers.z + powers.w));
    largest = new_largest;
  }
  let top = lane_max(largest, lane);
  return top + log2(lane_sum(sum * exp2(largest - top), lane));
}

// |column - target| / 255 for columns of bytes.
fn distance(columns: vec4u, target_column: u32) -> vec4f {
  return abs(vec4f(columns) - f32(target_column)) / 255f;
}

fn is_byte(columns: vec4u) -> vec4<bool> {
  return columns - params.first_byte < vec4u(256u);
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.stride / 4u;
  let base = row * width4;
  if (loss_mask[row] == 0u) {
    if (lane == 0u) { losses[row] = 0f; }
    if (GRADIENT) {
      for (var i = lane; i < width4; i += LANES) { d_logits[base + i] = vec4f(0f); }
    }
    return;
  }
  // Scores are z in units of log 2, so that 2^score = e^z.
  let unit = select(LOG2_E, LOG2_E * params.softcap, SOFTCAP);
  var largest = PADDING;
  var sum = 0f;
  for (var i = lane; i < (params.vocab_size + 3u) / 4u; i += LANES) {
    let is_column = 4u * i + vec4u(0u, 1u, 2u, 3u) < vec4u(params.vocab_size);
    let score = select(vec4f(PADDING), squash(logits[base + i]) * unit, is_column);
    let new_largest = max(largest, max(max(score.x, score.y), max(score.z, score.w)));
    let powers = exp2(score - new_largest);
    sum = fma(sum, exp2(largest - new_largest), (powers.x + powers.y) + (powers.z + powers.w));
    largest = new_largest;
  }
  let top = lane_max(largest, lane);
  let log2_sum = top + log2(lane_sum(sum * exp2(largest - top), lane));
  let target_column = targets[row];
  if (lane == 0u) {
    let score = squash(logits[base + target_column / 4u])[target_column % 4u] * unit;
    losses[row] = (log2_sum - score) * LN_2;
  }
  if (!GRADIENT) { return; }
  let kind = loss_mask[row];
  let taught = select(0f, params.teacher_weight, TAUGHT && kind >= 2u);
  var teacher_log2_sum = 0f;
  if (taught > 0f) { teacher_log2_sum = teacher_log2_sum_of(base, lane); }
  let ordinal = (1f - taught) *
    (select(0f, params.ordinal_2, kind == 2u) + select(0f, params.ordinal_3, kind == 3u));
  // p: the probability of all bytes; mean: the mean distance given a byte. ordinal / p and ordinal * mean / p.
  var scale = 0f;
  var offset = 0f;
  if (ordinal > 0f) {
    var mass = 0f;
    var moment = 0f;
    for (var i = lane; i < (params.vocab_size + 3u) / 4u; i += LANES) {
      let columns = 4u * i + vec4u(0u, 1u, 2u, 3u);
      let p = exp2(squash(logits[base + i]) * unit - log2_sum);
      let kept = select(vec4f(0f), p, is_byte(columns) & (columns < vec4u(params.vocab_size)));
      mass += dot(kept, vec4f(1f));
      moment += dot(kept, distance(columns, target_column));
    }
    // The probability of all bytes can underflow float32; the term is then 0.
    mass = max(lane_sum(mass, lane), 1e-30f);
    scale = ordinal / mass;
    offset = scale * lane_sum(moment, lane) / mass;
  }
  var factor = weight[0];
  if (kind >= 2u) { factor *= params.marked_weight; }
  if (SCALED) { factor *= loss_scale[0]; }
  for (var i = lane; i < width4; i += LANES) {
    let columns = 4u * i + vec4u(0u, 1u, 2u, 3u);
    let squashed = squash(logits[base + i]);
    let p = exp2(squashed * unit - log2_sum);
    var wanted = vec4f(columns == vec4u(target_column));
    if (taught > 0f) { wanted = mix(wanted, exp2(teacher_scores(base + i) - teacher_log2_sum), taught); }
    var d = p - wanted;
    d += select(vec4f(0f), p * (scale * distance(columns, target_column) - offset), is_byte(columns));
    if (SOFTCAP) { d *= 1f - squashed * squashed; }
    d_logits[base + i] = select(vec4f(0f), d * factor, columns < vec4u(params.vocab_size));
  }
}
