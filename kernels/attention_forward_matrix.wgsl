// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head, by
// matrix units; log_sum_exp[t] = log of the softmax's denominator, for the backward pass. Nothing of size T x T is stored.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 1; Dao, FlashAttention-2, 2023 (a subgroup owns rows). Tiles
// are in attention_tiles_matrix.wgsl.
// Bindings: q, k, v (B, T, H, D) f16 read; segment_start (B, T) read; out (B, T, H, D) write; log_sum_exp (B, T, H) write.
// Grid: x = ceil(T / (4 MATRIX)) query tiles, y = H, z = B; 4 LANES threads per tile.
// Numerics: products of f16 are exact in f32; sums in f32; exponentials of base 2; weights are rounded to
// f16. The exponent's reference is the running maximum, rounded up to a multiple of 8: the factor of the sums
// is an exact power of two, and the sums stay in registers except in the few tiles in which a reference
// changes. Weights are at most 2^7, so weights down to 2^-21 of the largest are normal f16. The bits of a
// segment's results depend on its position in the sequence.
// Limits: D is 4 MATRIX or 8 MATRIX; segment_start must not decrease along t; B, H <= 65535.
// #include attention_tiles_matrix.wgsl
struct Params { sequence_length: u32, num_heads: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4u>;
@group(0) @binding(1) var<storage, read> k: array<vec4u>;
@group(0) @binding(2) var<storage, read> v: array<vec4u>;
@group(0) @binding(3) var<storage, read> segment_start: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> log_sum_exp: array<f32>;
@group(0) @binding(6) var<uniform> params: Params;

// Words from one row of weights to the next. Weights replace the tile's keys, which are no longer read.
const WEIGHT_ROW = OTHER / 8u + 1u;
// LOWEST is finite and below every score; the scores of masked keys are far below it.
const LOWEST = -1e30f;
const UNSEEN = -1e34f;
const LN_2 = 0.6931471805599453f;
// Weights are stored times 2 to this power.
const EXTRA = 7f;

// The last tile, counted from 1, in which a reference changed that is not its row's first.
var<workgroup> changed: atomic<u32>;

fn own_words(which: u32, at: vec4u) -> Words { return Words(q[at.x], q[at.y], q[at.z], q[at.w]); }

fn other_words(which: u32, at: vec4u) -> Words {
  if (which == 0u) { return Words(k[at.x], k[at.y], k[at.z], k[at.w]); }
  return Words(v[at.x], v[at.y], v[at.z], v[at.w]);
}

fn store(which: u32, at: u32, x: vec4f) { out[at] = x; }

// Adds the products of queries and keys in a matrix of dims, from word `at` of keys on.
fn add_scores(row: ptr<function, Row>, x: Left, at: u32) {
  (*row).c0 = multiply(x, right_columns(at), (*row).c0);
  (*row).c1 = multiply(x, right_columns(at + NEXT_MATRIX), (*row).c1);
  if (TILE_MATRICES == 4u) {
    (*row).c2 = multiply(x, right_columns(at + 2u * NEXT_MATRIX), (*row).c2);
    (*row).c3 = multiply(x, right_columns(at + 3u * NEXT_MATRIX), (*row).c3);
  }
}

fn scores_of(x: Lefts) -> Row {
  var row = Row(Sum(), Sum(), Sum(), Sum());
  add_scores(&row, x.x0, 0u);
  add_scores(&row, x.x1, MATRIX8);
  add_scores(&row, x.x2, 2u * MATRIX8);
  add_scores(&row, x.x3, 3u * MATRIX8);
  if (HEAD_MATRICES == 8u) {
    add_scores(&row, x.x4, 4u * MATRIX8);
    add_scores(&row, x.x5, 5u * MATRIX8);
    add_scores(&row, x.x6, 6u * MATRIX8);
    add_scores(&row, x.x7, 7u * MATRIX8);
  }
  return row;
}

fn put_scores(strip: u32, row: Row) {
  put_sum(strip, row.c0);
  put_sum(strip + MATRIX4, row.c1);
  if (TILE_MATRICES == 4u) {
    put_sum(strip + 2u * MATRIX4, row.c2);
    put_sum(strip + 3u * MATRIX4, row.c3);
  }
}

fn weights_left(at: u32) -> Left { return subgroupMatrixLoad<Left, row_major>(&tile, at, WEIGHT_ROW); }

fn take_sum(at: u32) -> Sum { return subgroupMatrixLoad<Sum, row_major>(&tile, at, STRIP_ROW); }

// Multiplies the rows of sums by their lanes' factors.
fn scaled_row(row: Row, strip: u32, lane: Lane, factor: f32) -> Row {
  workgroupBarrier();
  put_row(strip, row);
  workgroupBarrier();
  scale_part(lane.part_at, factor);
  scale_part(lane.part_at + NEXT_PAIR, factor);
  workgroupBarrier();
  return Row(take_sum(strip), take_sum(strip + MATRIX4), take_sum(strip + 2u * MATRIX4), take_sum(strip + 3u * MATRIX4));
}

fn scale_part(at: u32, factor: f32) {
  tile[at] = bitcast<vec4u>(strip_vec4(at) * factor);
  tile[at + 1u] = bitcast<vec4u>(strip_vec4(at + 1u) * factor);
  tile[at + MATRIX4] = bitcast<vec4u>(strip_vec4(at + MATRIX4) * factor);
  tile[at + MATRIX4 + 1u] = bitcast<vec4u>(strip_vec4(at + MATRIX4 + 1u) * factor);
}

fn largest_of(p: Part) -> f32 {
  let x = max(max(p.x0, p.x1), max(p.x2, p.x3));
  return max(max(x.x, x.y), max(x.z, x.w));
}

fn weights(p: Part, scale: f32, reference: f32) -> Part {
  let shift = vec4f(-reference);
  let factor = vec4f(scale);
  return Part(exp2(fma(p.x0, factor, shift)), exp2(fma(p.x1, factor, shift)), exp2(fma(p.x2, factor, shift)),
    exp2(fma(p.x3, factor, shift)));
}

// Stores a part's weights of matrix 0 to word `at`, followed by those of matrix 1.
fn put_weights(at: u32, lane: Lane, p: Part) {
  tile[at] = halves(p.x0, p.x1, lane);
  tile[at + MATRIX8] = halves(p.x2, p.x3, lane);
}

fn sum_of(p: Part) -> f32 { return dot((p.x0 + p.x1) + (p.x2 + p.x3), vec4f(1f)); }

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) thread: u32, @builtin(subgroup_id) subgroup: u32) {
  // Start with the longest rows.
  let first = (groups.x - 1u - group.x) * OWN;
  let row0 = group.z * params.sequence_length;
  let head = (row0 * params.num_heads + group.y) * HEAD8;
  let last = min(first + OWN, params.sequence_length) - 1u;
  let lane = lane_of(thread);
  let t = min(first + lane.row, last);
  let start = segment_start[row0 + t];
  let last_start = segment_start[row0 + last];
  let strip = STRIPS + subgroup * MATRIX * STRIP_ROW;
  let weights_at = subgroup * MATRIX * WEIGHT_ROW;
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  if (thread == 0u) { atomicStore(&changed, 0u); }
  let queries = own_lefts(0u, head, first, thread, subgroup);
  let key_begin = segment_start[row0 + first];
  var at = places(head, key_begin, thread);
  var next_keys = other_words(0u, at);
  var next_values = other_words(1u, at);
  var largest = LOWEST;
  var sum = 0f;
  var low = Row();
  var high = Row();
  for (var key = key_begin; key <= last; key += OTHER) {
    workgroupBarrier();
    put(0u, thread, next_keys);
    put(SECOND, thread, next_values);
    workgroupBarrier();
    at = places(head, key + OTHER, thread);
    next_keys = other_words(0u, at);
    next_values = other_words(1u, at);
    put_scores(strip, scores_of(queries));
    workgroupBarrier();
    let is_edge = key < last_start || key + OTHER > first + 1u;
    var p0 = take_part(lane, 0u);
    if (is_edge) { p0 = seen_part(p0, lane, key, start, t, UNSEEN); }
    var largest_score = largest_of(p0);
    var p1 = p0;
    if (TILE_MATRICES == 4u) {
      p1 = take_part(lane, 1u);
      if (is_edge) { p1 = seen_part(p1, lane, key + 2u * MATRIX, start, t, UNSEEN); }
      largest_score = max(largest_score, largest_of(p1));
    }
    let reference = max(largest, ceil(over_row_max(largest_score) * scale / 8f) * 8f);
    let shrink = exp2(largest - reference);
    if (reference > largest && largest > LOWEST) { atomicMax(&changed, key + 1u); }
    largest = reference;
    let word = lane.row * WEIGHT_ROW + lane.row_lane;
    p0 = weights(p0, scale, reference - EXTRA);
    put_weights(word, lane, p0);
    var tile_sum = sum_of(p0);
    if (TILE_MATRICES == 4u) {
      p1 = weights(p1, scale, reference - EXTRA);
      put_weights(word + 2u * MATRIX8, lane, p1);
      tile_sum += sum_of(p1);
    }
    sum = sum * shrink + tile_sum;
    if (workgroupUniformLoad(&changed) == key + 1u) {
      low = scaled_row(low, strip, lane, shrink);
      if (HEAD_MATRICES == 8u) { high = scaled_row(high, strip, lane, shrink); }
    }
    add_rows(&low, &high, weights_left(weights_at), SECOND);
    add_rows(&low, &high, weights_left(weights_at + MATRIX8), SECOND + NEXT_MATRIX);
    if (TILE_MATRICES == 4u) {
      add_rows(&low, &high, weights_left(weights_at + 2u * MATRIX8), SECOND + 2u * NEXT_MATRIX);
      add_rows(&low, &high, weights_left(weights_at + 3u * MATRIX8), SECOND + 3u * NEXT_MATRIX);
    }
  }
  sum = over_row_sum(sum);
  let is_stored = first + lane.row <= last;
  let own = (row0 + t) * params.num_heads + group.y;
  let to = own * HEAD4 + 2u * lane.row_lane;
  store_row(0u, to, low, strip, lane, 1f / sum, is_stored);
  if (HEAD_MATRICES == 8u) { store_row(0u, to + 4u * MATRIX4, high, strip, lane, 1f / sum, is_stored); }
  if (is_stored && lane.row_lane == 0u) { log_sum_exp[own] = (largest - EXTRA + log2(sum)) * LN_2; }
}
