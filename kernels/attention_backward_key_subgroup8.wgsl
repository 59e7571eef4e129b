// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
// segment_start[t] <= j <= t; p, ds and delta as in attention_backward_query_subgroup8.wgsl, which runs before.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For adapters whose subgroups have exactly 8 lanes: each
// lane owns whole keys; slots, tiles and their products are in attention_slots_subgroup8.wgsl.
// Bindings: q, k, v, d_out (B, T, H, D) read; log_sum_exp, delta (B, T, H) read; segment_start (B, T) read;
//   dk, dv (B, T, H, D) write.
// Grid: x = ceil(T * D / 1024) key tiles, y = H, z = B; one subgroup a tile; key n of lane l is 8 n + l of the tile.
// Numerics: f32, exponentials of base 2, queries ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32 }

override KEYS: u32 = 32u / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(4) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(5) var<storage, read> delta: array<f32>;
@group(0) @binding(6) var<storage, read> segment_start: array<u32>;
@group(0) @binding(7) var<storage, read_write> dk: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(9) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;

fn load_q(at: u32) -> mat4x4f { return mat4x4f(q[at], q[at + 1u], q[at + 2u], q[at + 3u]); }
fn load_k(at: u32) -> mat4x4f { return mat4x4f(k[at], k[at + 1u], k[at + 2u], k[at + 3u]); }
fn load_v(at: u32) -> mat4x4f { return mat4x4f(v[at], v[at + 1u], v[at + 2u], v[at + 3u]); }
fn load_d_out(at: u32) -> mat4x4f { return mat4x4f(d_out[at], d_out[at + 1u], d_out[at + 2u], d_out[at + 3u]); }

fn load_key(slot: u32, row: u32, key: ptr<function, Slots>, value: ptr<function, Slots>) {
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  let at = row + slot % SLICES * 8u;
  (*key).half[slot * 2u] = load_k(at) * scale;
  (*key).half[slot * 2u + 1u] = load_k(at + 4u) * scale;
  (*value).half[slot * 2u] = load_v(at);
  (*value).half[slot * 2u + 1u] = load_v(at + 4u);
}

fn load_query(slice: u32, row: u32, query: ptr<function, Slots>, d_query: ptr<function, Slots>) {
  if (slice >= SLICES) { return; }
  let at = row + slice * 8u;
  (*query).half[slice * 2u] = load_q(at);
  (*query).half[slice * 2u + 1u] = load_q(at + 4u);
  (*d_query).half[slice * 2u] = load_d_out(at);
  (*d_query).half[slice * 2u + 1u] = load_d_out(at + 4u);
}

fn row_low(x: f32) -> vec4f {
  return vec4f(subgroupBroadcast(x, 0u), subgroupBroadcast(x, 1u), subgroupBroadcast(x, 2u), subgroupBroadcast(x, 3u));
}

fn row_high(x: f32) -> vec4f {
  return vec4f(subgroupBroadcast(x, 4u), subgroupBroadcast(x, 5u), subgroupBroadcast(x, 6u), subgroupBroadcast(x, 7u));
}

fn starts_low(x: u32) -> vec4u {
  return vec4u(subgroupBroadcast(x, 0u), subgroupBroadcast(x, 1u), subgroupBroadcast(x, 2u), subgroupBroadcast(x, 3u));
}

fn starts_high(x: u32) -> vec4u {
  return vec4u(subgroupBroadcast(x, 4u), subgroupBroadcast(x, 5u), subgroupBroadcast(x, 6u), subgroupBroadcast(x, 7u));
}

// What a lane knows of its query of the tile.
struct Query { start: u32, log2_sum: f32, delta: f32 }

// Of the lane's key n: turns the scores into weights, and the gradients of the weights into those of the scores,
// without the factor 1 / sqrt(D).
fn gradients(n: u32, key: u32, t: u32, query: Query, s: ptr<function, Scores>, dp: ptr<function, Scores>) {
  if (n * SLICES >= 4u) { return; }
  let t_low = t + vec4u(0u, 1u, 2u, 3u);
  let t_high = t_low + 4u;
  let limit = vec4u(params.sequence_length);
  let visible_low = (starts_low(query.start) <= vec4u(key)) & (vec4u(key) <= t_low) & (t_low < limit);
  let visible_high = (starts_high(query.start) <= vec4u(key)) & (vec4u(key) <= t_high) & (t_high < limit);
  let low = select(vec4f(0f), exp2((*s).low[n] - row_low(query.log2_sum)), visible_low);
  let high = select(vec4f(0f), exp2((*s).high[n] - row_high(query.log2_sum)), visible_high);
  (*s).low[n] = low;
  (*s).high[n] = high;
  (*dp).low[n] = low * ((*dp).low[n] - row_low(query.delta));
  (*dp).high[n] = high * ((*dp).high[n] - row_high(query.delta));
}

fn store_dk(at: u32, x: mat4x4f) {
  dk[at] = x[0];
  dk[at + 1u] = x[1];
  dk[at + 2u] = x[2];
  dk[at + 3u] = x[3];
}

fn store_dv(at: u32, x: mat4x4f) {
  dv[at] = x[0];
  dv[at + 1u] = x[1];
  dv[at + 2u] = x[2];
  dv[at + 3u] = x[3];
}

fn store_slot(slot: u32, row: u32, d_key: ptr<function, Slots>, d_value: ptr<function, Slots>) {
  let scale = inverseSqrt(f32(HEAD_DIM));
  let at = row + slot % SLICES * 8u;
  store_dk(at, (*d_key).half[slot * 2u] * scale);
  store_dk(at + 4u, (*d_key).half[slot * 2u + 1u] * scale);
  store_dv(at, (*d_value).half[slot * 2u]);
  store_dv(at + 4u, (*d_value).half[slot * 2u + 1u]);
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let length = params.sequence_length;
  let first = group.x * KEYS;
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  // The key of each slot; past the sequence's end the last one again, which is not stored.
  let wanted = first + lane + 8u * (vec4u(0u, 1u, 2u, 3u) / SLICES);
  let keys = min(wanted, vec4u(length - 1u));
  let at = head0 + keys * stride;
  var key = Slots();
  var value = Slots();
  load_key(0u, at.x, &key, &value);
  load_key(1u, at.y, &key, &value);
  load_key(2u, at.z, &key, &value);
  load_key(3u, at.w, &key, &value);
  var d_key = Slots();
  var d_value = Slots();
  let last = min(first + KEYS, length) - 1u;
  for (var t = first / 8u * 8u; t < length; t += 8u) {
    if (segment_start[row0 + t] > last) { break; }
    let own_t = min(t + lane, length - 1u);
    let row = (row0 + own_t) * params.num_heads + group.y;
    let info = Query(segment_start[row0 + own_t], log_sum_exp[row] * LOG2_E, delta[row]);
    var query = Slots();
    var d_query = Slots();
    load_query(0u, head0 + own_t * stride, &query, &d_query);
    load_query(1u, head0 + own_t * stride, &query, &d_query);
    load_query(2u, head0 + own_t * stride, &query, &d_query);
    load_query(3u, head0 + own_t * stride, &query, &d_query);
    var s = score(&key, &query);
    var dp = score(&value, &d_query);
    gradients(0u, keys.x, t, info, &s, &dp);
    gradients(1u, keys[SLICES % 4u], t, info, &s, &dp);
    gradients(2u, keys[2u * SLICES % 4u], t, info, &s, &dp);
    gradients(3u, keys[3u * SLICES % 4u], t, info, &s, &dp);
    weigh(&s, &d_query, &d_value);
    weigh(&dp, &query, &d_key);
  }
  if (wanted.x < length) { store_slot(0u, at.x, &d_key, &d_value); }
  if (wanted.y < length) { store_slot(1u, at.y, &d_key, &d_value); }
  if (wanted.z < length) { store_slot(2u, at.z, &d_key, &d_value); }
  if (wanted.w < length) { store_slot(3u, at.w, &d_key, &d_value); }
}
