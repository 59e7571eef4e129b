// out[i, :] = log softmax(z[r, :]), r = row_index[i], with z = s tanh(logits / s) if SOFTCAP, else z = logits; columns from
// vocab_size on are padding and ignored.
// Source: as cross_entropy.wgsl, whose losses these are.
// Bindings: logits (rows, stride) read; row_index (n) read; out (n, vocab_size) write.
// Grid: one workgroup of LANES lanes per chosen row.
// Numerics: f32, exponentials of base 2, each lane's running maximum subtracted; tanh as in cross_entropy.wgsl.
// Limits: row_index < rows; n <= 65535 * 65535 through a two-dimensional grid.
struct Params { num_rows: u32, vocab_size: u32, stride: u32, softcap: f32 }

override SOFTCAP: bool = true;

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> row_index: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;
const LN_2 = 0.6931471805599453f;
// Below every logit, and finite, so that the difference of two is not NaN.
const LOWEST = -1e30f;

// z in units of log 2, so that 2^score = e^z.
fn score_of(x: f32) -> f32 {
  if (!SOFTCAP) { return x * LOG2_E; }
  return (1f - 2f / (exp2(x * (2f * LOG2_E / params.softcap)) + 1f)) * params.softcap * LOG2_E;
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let i = group.y * groups.x + group.x;
  if (i >= params.num_rows) { return; }
  let base = row_index[i] * params.stride;
  var largest = LOWEST;
  var sum = 0f;
  for (var column = lane; column < params.vocab_size; column += LANES) {
    let score = score_of(logits[base + column]);
    let new_largest = max(largest, score);
    sum = fma(sum, exp2(largest - new_largest), exp2(score - new_largest));
    largest = new_largest;
  }
  let top = lane_max(largest, lane);
  let log2_sum = top + log2(lane_sum(sum * exp2(largest - top), lane));
  for (var column = lane; column < params.vocab_size; column += LANES) {
    out[i * params.vocab_size + column] = (score_of(logits[base + column]) - log2_sum) * LN_2;
  }
}
