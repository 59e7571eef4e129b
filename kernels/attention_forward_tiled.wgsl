// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
// log_sum_exp[t] = log of the softmax's denominator, for the backward pass. Nothing of size T x T is stored.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 1. For any adapter; tiles are in
// attention_tiles_tiled.wgsl.
// Bindings: q, k, v (B, T, H, D) read; segment_start (B, T) read; out (B, T, H, D) write; log_sum_exp (B, T, H) write.
// Grid: x = ceil(T * D / 4096) query tiles, y = H, z = B; 64 threads per tile.
// Numerics: f32, exponentials of base 2, keys ascending (also in the sums of weights), running maximum
//   subtracted.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535.
// #include attention_tiles_tiled.wgsl
struct Params { sequence_length: u32, num_heads: u32, one: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> segment_start: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> log_sum_exp: array<f32>;
@group(0) @binding(6) var<uniform> params: Params;

override OTHER_PARTS: u32 = HEAD_DIM / 4u;
// Below every score, and finite, so that the difference of two is not NaN; twice that for masked keys.
const LOWEST = -1e30f;
const LN_2 = 0.6931471805599453f;

fn own_rows(which: u32, at: vec4u) -> mat4x4f { return mat4x4f(q[at.x], q[at.y], q[at.z], q[at.w]); }

fn other_rows(which: u32, at: vec4u) -> mat4x4f {
  if (which == 0u) { return mat4x4f(k[at.x], k[at.y], k[at.z], k[at.w]); }
  return mat4x4f(v[at.x], v[at.y], v[at.z], v[at.w]);
}

// Scores of four keys, from `key` on, for the queries t; scores of masked keys become the lowest.
fn seen4(scores: mat4x4f, key: u32, start: vec4u, t: vec4u) -> mat4x4f {
  return mat4x4f(seen(scores[0], key, start, t), seen(scores[1], key + 1u, start, t),
    seen(scores[2], key + 2u, start, t), seen(scores[3], key + 3u, start, t));
}

fn seen(scores: vec4f, key: u32, start: vec4u, t: vec4u) -> vec4f {
  return select(vec4f(2f * LOWEST), scores, (vec4u(key) >= start) & (vec4u(key) <= t));
}

fn largest_of(x: mat4x4f, y: mat4x4f) -> vec4f {
  return max(max(max(x[0], x[1]), max(x[2], x[3])), max(max(y[0], y[1]), max(y[2], y[3])));
}

// The next odd multiple of 16, so that usually one value serves all tiles of a row and the result does not
// depend on where in a tile the segment starts: with another value the factors of the sums would still be
// exact, but weights would be rounded differently.
fn rounded_up(x: vec4f) -> vec4f { return ceil((x - 16f) / 32f) * 32f + 16f; }

fn weights(scores: mat4x4f, largest: vec4f) -> mat4x4f {
  return mat4x4f(exp2(scores[0] - largest), exp2(scores[1] - largest), exp2(scores[2] - largest),
    exp2(scores[3] - largest));
}

// Adds the weights of four keys, one after the other, so that the sum does not depend on where in a tile a segment starts.
fn add_weights(sum: Rows, at: u32) -> Rows {
  return Rows((((sum.low + tile[0][at]) + tile[1][at]) + tile[2][at]) + tile[3][at],
    (((sum.high + tile[0][at ^ 1u]) + tile[1][at ^ 1u]) + tile[2][at ^ 1u]) + tile[3][at ^ 1u]);
}

// Multiplies the columns by the elements of x.
fn scaled(block: mat4x4f, x: vec4f) -> mat4x4f {
  return mat4x4f(block[0] * x.x, block[1] * x.y, block[2] * x.z, block[3] * x.w);
}

fn store(which: u32, at: u32, x: vec4f) { out[at] = x; }

fn store_log_sum(at: u32, value: vec4f, row: u32) {
  if (row < params.sequence_length) { log_sum_exp[at] = value.x; }
  if (row + 1u < params.sequence_length) { log_sum_exp[at + params.num_heads] = value.y; }
  if (row + 2u < params.sequence_length) { log_sum_exp[at + 2u * params.num_heads] = value.z; }
  if (row + 3u < params.sequence_length) { log_sum_exp[at + 3u * params.num_heads] = value.w; }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let tx = thread % THREADS_X;
  let ty = thread / THREADS_X;
  let head = head_of(group, params.sequence_length, params.num_heads);
  let row0 = group.z * head.length;
  let first = group.x * OWN_ROWS;
  let last = min(first + OWN_ROWS, head.length) - 1u;
  let last_start = segment_start[row0 + last];
  let low = four_rows(head, first + 8u * ty);
  let high = four_rows(head, first + 8u * ty + 4u);
  let start_low = starts_of(row0 + low);
  let start_high = starts_of(row0 + high);
  var largest = Rows(vec4f(LOWEST), vec4f(LOWEST));
  var sum = Rows();
  var weighted = Sums();
  for (var key = segment_start[row0 + first]; key <= last; key += OTHER_ROWS) {
    var scores = Sums();
    for (var d = 0u; d < times(HEAD_PARTS); d += 4u) {
      load_dims(0u, head, first, key, d, thread);
      for (var i = 0u; i < times(4u); i++) {
        let y = own_place(i, 2u * ty);
        add_steps(&scores, other_place(i, tx), other_place(i, tx + OTHER_PARTS / 2u), y, y ^ 1u);
      }
    }
    let scale = log2_scale();
    scores = Sums(scores.s00 * scale, scores.s01 * scale, scores.s10 * scale, scores.s11 * scale);
    if (key < last_start || key + OTHER_ROWS > first) {
      let left = key + 4u * tx;
      let right = left + OTHER_ROWS / 2u;
      scores = Sums(seen4(scores.s00, left, start_low, low), seen4(scores.s01, left, start_high, high),
        seen4(scores.s10, right, start_low, low), seen4(scores.s11, right, start_high, high));
    }
    let largest_scores = over_threads(
      Rows(largest_of(scores.s00, scores.s10), largest_of(scores.s01, scores.s11)), false, tx, ty);
    let new_largest = Rows(max(largest.low, rounded_up(largest_scores.low)),
      max(largest.high, rounded_up(largest_scores.high)));
    let shrink = Rows(exp2(largest.low - new_largest.low), exp2(largest.high - new_largest.high));
    largest = new_largest;
    scores = Sums(weights(scores.s00, largest.low), weights(scores.s01, largest.high),
      weights(scores.s10, largest.low), weights(scores.s11, largest.high));
    sum = Rows(sum.low * shrink.low, sum.high * shrink.high);
    weighted = Sums(scaled(weighted.s00, shrink.low), scaled(weighted.s01, shrink.low),
      scaled(weighted.s10, shrink.high), scaled(weighted.s11, shrink.high));
    // Half of the tile's weights fit into memory.
    for (var row = 0u; row < OTHER_ROWS && key + row <= last; row += 16u) {
      let in_half = row % (OTHER_ROWS / 2u);
      workgroupBarrier();
      if (row == 0u) {
        store_weights(tx, ty, scores.s00, scores.s01);
      } else if (in_half == 0u) {
        store_weights(tx, ty, scores.s10, scores.s11);
      }
      load_rows(1u, head, key + row, thread);
      workgroupBarrier();
      for (var i = 0u; i < times(4u); i++) {
        let x = own_place(in_half / 4u + i, 2u * ty);
        let y = FIRST_ROW_PART + i * HEAD_PARTS + tx;
        add_steps(&weighted, x, x ^ 1u, y, y + THREADS_X);
        sum = add_weights(sum, x);
      }
    }
  }
  let row = first + 8u * ty;
  for (var i = 0u; i < times(4u); i++) {
    let block_row = row + i / 2u * 4u;
    let at = head.first + block_row * head.stride + tx + i % 2u * THREADS_X;
    let parts = scaled(block_of_sums(weighted, i), 1f / select(sum.low, sum.high, i >= 2u));
    store_rows(0u, at, head.stride, parts, block_row);
  }
  if (tx > 0u) { return; }
  let sum_at = (row0 + row) * params.num_heads + group.y;
  store_log_sum(sum_at, (largest.low + log2(sum.low)) * LN_2, row);
  store_log_sum(sum_at + 4u * params.num_heads, (largest.high + log2(sum.high)) * LN_2, row + 4u);
}
