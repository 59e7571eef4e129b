// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j
// (segment_start[t] <= j <= t), by matrix units; p, ds and delta as in attention_backward_query_matrix.wgsl,
// which runs before.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. Tiles are in attention_tiles_matrix.wgsl.
// Bindings: q, k, v, d_out (B, T, H, D) f16 read; log_sum_exp, delta (B, T, H) read; segment_start (B, T) read;
//   dk, dv (B, T, H, D) write.
// Grid: x = ceil(T / (4 MATRIX)) key tiles, y = H, z = B; 4 LANES threads per tile.
// Numerics: products of f16 are exact in f32; sums in f32; exponentials of base 2; 2^14 p (at most 2^14, up to rounding) and
//   2^4 ds are rounded to f16, the latter not finite beyond its range; queries ascending, no atomics.
// Limits: D is 4 MATRIX or 8 MATRIX; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
// #include attention_gradients_matrix.wgsl
struct Params { sequence_length: u32, num_heads: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4u>;
@group(0) @binding(1) var<storage, read> k: array<vec4u>;
@group(0) @binding(2) var<storage, read> v: array<vec4u>;
@group(0) @binding(3) var<storage, read> d_out: array<vec4u>;
@group(0) @binding(4) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(5) var<storage, read> delta: array<f32>;
@group(0) @binding(6) var<storage, read> segment_start: array<u32>;
@group(0) @binding(7) var<storage, read_write> dk: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(9) var<uniform> params: Params;

// Weights are stored times 2 to this power.
const EXTRA_WEIGHT = 14f;

// Terms of the tile's queries that are the same for all keys: the exponent's shift, and -delta times the rest
// of ds's factor.
var<workgroup> shifts: array<vec4f, OTHER / 4u>;
var<workgroup> deltas: array<vec4f, OTHER / 4u>;

// 0: keys and queries; 1: values and gradients of outputs.
fn own_words(which: u32, at: vec4u) -> Words {
  if (which == 0u) { return Words(k[at.x], k[at.y], k[at.z], k[at.w]); }
  return Words(v[at.x], v[at.y], v[at.z], v[at.w]);
}

fn other_words(which: u32, at: vec4u) -> Words {
  if (which == 0u) { return Words(q[at.x], q[at.y], q[at.z], q[at.w]); }
  return Words(d_out[at.x], d_out[at.y], d_out[at.z], d_out[at.w]);
}

fn store(which: u32, at: u32, x: vec4f) {
  if (which == 0u) { dk[at] = x; } else { dv[at] = x; }
}

// Four queries' values from row `row` of a sequence on; past its end the last query's values.
struct Queries { shift: vec4f, delta: vec4f }

fn queries_of(row0: u32, row: u32, head: u32) -> Queries {
  let rows = row0 + min(row + vec4u(0u, 1u, 2u, 3u), vec4u(params.sequence_length - 1u));
  let at = rows * params.num_heads + head;
  let log_sum = vec4f(log_sum_exp[at.x], log_sum_exp[at.y], log_sum_exp[at.z], log_sum_exp[at.w]);
  let row_delta = vec4f(delta[at.x], delta[at.y], delta[at.z], delta[at.w]);
  return Queries(EXTRA_WEIGHT - log_sum * LOG2_E, row_delta * -exp2(EXTRA - EXTRA_WEIGHT));
}

// One past the last query that sees a key.
fn end_of(row0: u32, key: u32) -> u32 {
  var sees = key;
  var end = params.sequence_length;
  while (end - sees > 1u) {
    let t = (sees + end) / 2u;
    if (segment_start[row0 + t] <= key) { sees = t; } else { end = t; }
  }
  return end;
}

fn weights(score: vec4f, at: u32) -> vec4f {
  return exp2(fma(score, vec4f(LOG2_E * inverseSqrt(f32(HEAD_DIM))), shifts[at]));
}

fn d_score(p: vec4f, product: vec4f, at: u32) -> vec4f {
  return p * fma(product, vec4f(exp2(EXTRA - EXTRA_WEIGHT)), deltas[at]);
}

// A lane's key, and one past the last query that sees it.
struct Key { at: u32, end: u32 }

// Stores the weights of two matrices of queries, from t on, and the gradients of their scores; `pair` is the
// index of the pair in the tile.
fn put_pair(products: Row, strip: u32, lane: Lane, key: Key, t: u32, is_edge: bool, pair: u32) {
  put_row(strip, products);
  workgroupBarrier();
  let even = pair * NEXT_PAIR + 2u * lane.row_lane + lane.even;
  let odd = pair * NEXT_PAIR + 2u * lane.row_lane + lane.odd;
  let s = take_part(lane, 0u);
  let d = take_part(lane, 1u);
  var p = Part(weights(s.x0, even), weights(s.x1, odd), weights(s.x2, even + MATRIX4), weights(s.x3, odd + MATRIX4));
  if (is_edge) { p = seen_part(p, lane, t, key.at, key.end - 1u, 0f); }
  var ds = Part(d_score(p.x0, d.x0, even), d_score(p.x1, d.x1, odd), d_score(p.x2, d.x2, even + MATRIX4),
    d_score(p.x3, d.x3, odd + MATRIX4));
  put_words(lane, 0u, p);
  put_words(lane, 1u, ds);
  workgroupBarrier();
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32,
  @builtin(subgroup_id) subgroup: u32) {
  let first = group.x * OWN;
  let row0 = group.z * params.sequence_length;
  let head = (row0 * params.num_heads + group.y) * HEAD8;
  let last = min(first + OWN, params.sequence_length) - 1u;
  let lane = lane_of(thread);
  let own_key = min(first + lane.row, last);
  let key = Key(own_key, end_of(row0, own_key));
  let strip = STRIPS + subgroup * MATRIX * STRIP_ROW;
  let keys = own_lefts(0u, head, first, thread, subgroup);
  let values = own_lefts(1u, head, first, thread, subgroup);
  let tile_part = thread % (OTHER / 4u);
  var at = places(head, first, thread);
  var next_queries = other_words(0u, at);
  var next_gradients = other_words(1u, at);
  var next = queries_of(row0, first + 4u * tile_part, group.y);
  var key_low = Row();
  var key_high = Row();
  var value_low = Row();
  var value_high = Row();
  for (var t = first; t < params.sequence_length; t += OTHER) {
    if (segment_start[row0 + t] > last) { break; }
    workgroupBarrier();
    put(0u, thread, next_queries);
    put(SECOND, thread, next_gradients);
    if (thread < OTHER / 4u) {
      shifts[thread] = next.shift;
      deltas[thread] = next.delta;
    }
    workgroupBarrier();
    at = places(head, t + OTHER, thread);
    next_queries = other_words(0u, at);
    next_gradients = other_words(1u, at);
    next = queries_of(row0, t + OTHER + 4u * tile_part, group.y);
    let tile_end = min(t + OTHER, params.sequence_length);
    let is_edge = t < last || tile_end < t + OTHER || segment_start[row0 + tile_end - 1u] > first;
    put_pair(products_of(keys, values, 0u), strip, lane, key, t, is_edge, 0u);
    add_rows(&value_low, &value_high, words_left(strip, 0u, 0u), SECOND);
    add_rows(&value_low, &value_high, words_left(strip, 0u, 1u), SECOND + NEXT_MATRIX);
    add_rows(&key_low, &key_high, words_left(strip, 1u, 0u), 0u);
    add_rows(&key_low, &key_high, words_left(strip, 1u, 1u), NEXT_MATRIX);
    if (TILE_MATRICES == 4u) {
      let products = products_of(keys, values, 2u * NEXT_MATRIX);
      workgroupBarrier();
      put_pair(products, strip, lane, key, t + 2u * MATRIX, is_edge, 1u);
      add_rows(&value_low, &value_high, words_left(strip, 0u, 0u), SECOND + 2u * NEXT_MATRIX);
      add_rows(&value_low, &value_high, words_left(strip, 0u, 1u), SECOND + 3u * NEXT_MATRIX);
      add_rows(&key_low, &key_high, words_left(strip, 1u, 0u), 2u * NEXT_MATRIX);
      add_rows(&key_low, &key_high, words_left(strip, 1u, 1u), 3u * NEXT_MATRIX);
    }
  }
  let is_stored = first + lane.row <= last;
  let to = ((row0 + own_key) * params.num_heads + group.y) * HEAD4 + 2u * lane.row_lane;
  store_row(0u, to, key_low, strip, lane, DS_FACTOR, is_stored);
  store_row(1u, to, value_low, strip, lane, exp2(-EXTRA_WEIGHT), is_stored);
  if (HEAD_MATRICES == 8u) {
    store_row(0u, to + 4u * MATRIX4, key_high, strip, lane, DS_FACTOR, is_stored);
    store_row(1u, to + 4u * MATRIX4, value_high, strip, lane, exp2(-EXTRA_WEIGHT), is_stored);
  }
}
