// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
// exp(q[t] . k[j] / sqrt(D) - log_sum_exp[t]) over segment_start[t] <= j <= t, and delta[t] = d_out[t] .
// out[t], which is also written for the gradient of the keys. For each head, by matrix units; the forward
// pass is attention_forward_matrix.wgsl.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. Tiles are in attention_tiles_matrix.wgsl.
// Bindings: q, k, v, out, d_out (B, T, H, D) f16 read; log_sum_exp (B, T, H) read; segment_start (B, T) read;
//   delta (B, T, H) write; dq (B, T, H, D) write.
// Grid: x = ceil(T / (4 MATRIX)) query tiles, y = H, z = B; 4 LANES threads per tile.
// Numerics: products of f16 are exact in f32; sums in f32; exponentials of base 2; 2^4 ds is rounded to f16, not finite
//   beyond its range; keys ascending, no atomics.
// Limits: D is 4 MATRIX or 8 MATRIX; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
// #include attention_gradients_matrix.wgsl
struct Params { sequence_length: u32, num_heads: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4u>;
@group(0) @binding(1) var<storage, read> k: array<vec4u>;
@group(0) @binding(2) var<storage, read> v: array<vec4u>;
@group(0) @binding(3) var<storage, read> out: array<vec4u>;
@group(0) @binding(4) var<storage, read> d_out: array<vec4u>;
@group(0) @binding(5) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(6) var<storage, read> segment_start: array<u32>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;
@group(0) @binding(8) var<storage, read_write> dq: array<vec4f>;
@group(0) @binding(9) var<uniform> params: Params;

// 0: queries and keys; 1: gradients of outputs and values.
fn own_words(which: u32, at: vec4u) -> Words {
  if (which == 0u) { return Words(q[at.x], q[at.y], q[at.z], q[at.w]); }
  return Words(d_out[at.x], d_out[at.y], d_out[at.z], d_out[at.w]);
}

fn other_words(which: u32, at: vec4u) -> Words {
  if (which == 0u) { return Words(k[at.x], k[at.y], k[at.z], k[at.w]); }
  return Words(v[at.x], v[at.y], v[at.z], v[at.w]);
}

fn store(which: u32, at: u32, x: vec4f) { dq[at] = x; }

fn dot8(x: vec4u, y: vec4u) -> f32 {
  return (dot2(x.x, y.x) + dot2(x.y, y.y)) + (dot2(x.z, y.z) + dot2(x.w, y.w));
}

fn dot2(x: u32, y: u32) -> f32 { return dot(unpack2x16float(x), unpack2x16float(y)); }

// Terms of a lane's query t that are the same for all keys.
struct Query { t: u32, start: u32, shift: f32, delta: f32 }

fn d_score(score: vec4f, product: vec4f, by: Query) -> vec4f {
  let scale = vec4f(LOG2_E * inverseSqrt(f32(HEAD_DIM)));
  return exp2(fma(score, scale, vec4f(by.shift))) * (product - by.delta);
}

// Adds the contribution of two matrices of keys, from `key` on.
fn add_pair(low: ptr<function, Row>, high: ptr<function, Row>, products: Row, strip: u32, lane: Lane, by: Query, key: u32,
  is_edge: bool, rows_at: u32) {
  put_row(strip, products);
  workgroupBarrier();
  let s = take_part(lane, 0u);
  let d = take_part(lane, 1u);
  var ds = Part(d_score(s.x0, d.x0, by), d_score(s.x1, d.x1, by), d_score(s.x2, d.x2, by), d_score(s.x3, d.x3, by));
  if (is_edge) { ds = seen_part(ds, lane, key, by.start, by.t, 0f); }
  put_words(lane, 0u, ds);
  workgroupBarrier();
  add_rows(low, high, words_left(strip, 0u, 0u), rows_at);
  add_rows(low, high, words_left(strip, 0u, 1u), rows_at + NEXT_MATRIX);
}

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
  let last_start = segment_start[row0 + last];
  let own = (row0 + t) * params.num_heads + group.y;
  let strip = STRIPS + subgroup * MATRIX * STRIP_ROW;
  var own_delta = 0f;
  for (var i = 0u; i < HEAD_MATRICES; i++) {
    let at = own * HEAD8 + i * ROW_LANES + lane.row_lane;
    own_delta += dot8(d_out[at], out[at]);
  }
  own_delta = over_row_sum(own_delta);
  let by = Query(t, segment_start[row0 + t], EXTRA - log_sum_exp[own] * LOG2_E, own_delta);
  let queries = own_lefts(0u, head, first, thread, subgroup);
  let gradients = own_lefts(1u, head, first, thread, subgroup);
  let key_begin = segment_start[row0 + first];
  var at = places(head, key_begin, thread);
  var next_keys = other_words(0u, at);
  var next_values = other_words(1u, at);
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
    let is_edge = key < last_start || key + OTHER > first + 1u;
    add_pair(&low, &high, products_of(queries, gradients, 0u), strip, lane, by, key, is_edge, 0u);
    if (TILE_MATRICES == 4u) {
      let products = products_of(queries, gradients, 2u * NEXT_MATRIX);
      workgroupBarrier();
      add_pair(&low, &high, products, strip, lane, by, key + 2u * MATRIX, is_edge, 2u * NEXT_MATRIX);
    }
  }
  let is_stored = first + lane.row <= last;
  let to = own * HEAD4 + 2u * lane.row_lane;
  store_row(0u, to, low, strip, lane, DS_FACTOR, is_stored);
  if (HEAD_MATRICES == 8u) { store_row(0u, to + 4u * MATRIX4, high, strip, lane, DS_FACTOR, is_stored); }
  if (is_stored && lane.row_lane == 0u) { delta[own] = own_delta; }
}
