// The shared part of the forward attention kernels for subgroups of 8 lanes, in addition to
// attention_slots_subgroup8.wgsl: loads of rows of the bindings k and v, and the running softmax of a lane's
// rows.
// Source: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018.
// Limits: D is 32, 64 or 128.
// Below every score, and finite, so that the difference of two is not NaN.
const MASKED = -1e30f;

// For each of the lane's rows: the largest score so far, the sum of 2^(score - largest).
struct Softmax { largest: array<f32, 4>, sum: array<f32, 4> }

fn load_key(slice: u32, at: u32, key: ptr<function, Row>) {
  if (slice < SLICES) { (*key).slice[slice] = k[at + slice * 8u]; }
}

fn load_value(slice: u32, at: u32, value: ptr<function, Row>) {
  if (slice < SLICES) { (*value).slice[slice] = v[at + slice * 8u]; }
}

// Turns the score of the lane's row n into a weight, 0 where the key is not visible, and sets the factor by
// which the new largest score rescales the sums so far.
fn weight(n: u32, visible: bool, s: ptr<function, Scores>, softmax: ptr<function, Softmax>,
          keep: ptr<function, Scores>) {
  if (n * SLICES >= 4u) { return; }
  let score = select(MASKED, (*s).row[n], visible);
  let largest = (*softmax).largest[n];
  // One of 2^(score - new largest) and 2^(largest - new largest) is 1; this is the other.
  let power = exp2(-abs(score - largest));
  let factor = select(1f, power, score > largest);
  let weight = select(0f, select(power, 1f, score > largest), visible);
  (*softmax).largest[n] = max(largest, score);
  (*softmax).sum[n] = fma((*softmax).sum[n], factor, weight);
  (*keep).row[n] = factor;
  (*s).row[n] = weight;
}
