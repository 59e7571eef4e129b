// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
// segment_start[t] <= j <= t; p, ds and delta as in attention_backward_query_subgroup8.wgsl, which runs before.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For adapters whose subgroups have exactly 8 lanes: each
// lane owns whole keys; slots, tiles and their products are in attention_slots_subgroup8.wgsl.
// Bindings: q, k, v, d_out (B, T, H, D) read; log_sum_exp, delta (B, T, H) read; segment_start (B, T) read;
//   dk, dv (B, T, H, D) write.
// Grid: x = ceil(T * D / 1024) key tiles, y = H, z = B; one subgroup a tile; key n of lane l is 8 n + l of the tile.
// Numerics: f32, exponentials of base 2, queries ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32, slot_parts: u32 }

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
fn load_d_out(at: u32) -> mat4x4f { return mat4x4f(d_out[at], d_out[at + 1u], d_out[at + 2u], d_out[at + 3u]); }

fn load_query(slice: u32, at: u32, query: ptr<function, Tile>, d_query: ptr<function, Tile>) {
  if (slice >= SLICES) { return; }
  (*query).slice[slice] = load_q(at + slice * 8u);
  (*d_query).slice[slice] = load_d_out(at + slice * 8u);
}

fn spread_row(x: f32) -> vec4f {
  return vec4f(subgroupBroadcast(x, 0u), subgroupBroadcast(x, 1u), subgroupBroadcast(x, 2u), subgroupBroadcast(x, 3u));
}

fn spread_starts(x: u32) -> vec4u {
  return vec4u(subgroupBroadcast(x, 0u), subgroupBroadcast(x, 1u), subgroupBroadcast(x, 2u), subgroupBroadcast(x, 3u));
}

// Values of the tile's queries.
struct Queries { t: vec4u, start: vec4u, log2_sum: vec4f, delta: vec4f }

// For the lane's key n: turns the scores into weights, and the gradients of the weights into those of the scores,
// without the factor 1 / sqrt(D).
fn gradients(n: u32, key: u32, queries: Queries, s: ptr<function, Scores>, dp: ptr<function, Scores>) {
  if (n * SLICES >= 4u) { return; }
  let visible = (queries.start <= vec4u(key)) & (vec4u(key) <= queries.t) &
    (queries.t < vec4u(params.sequence_length));
  let weight = select(vec4f(0f), exp2((*s).row[n] - queries.log2_sum), visible);
  (*s).row[n] = weight;
  (*dp).row[n] = weight * ((*dp).row[n] - queries.delta);
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
  let scale = inverseSqrt(f32(HEAD_DIM));
  var key = Slots();
  var value = Slots();
  for (var i = 0u; i < params.slot_parts; i++) {
    let source = at[i / 8u] + i % (SLICES * 8u);
    key.part[i] = k[source] * (scale * LOG2_E);
    value.part[i] = v[source];
  }
  var d_key = Slots();
  var d_value = Slots();
  let last = min(first + KEYS, length) - 1u;
  for (var t = first / 4u * 4u; t < length; t += 4u) {
    if (segment_start[row0 + t] > last) { break; }
    let own_t = min(t + lane % 4u, length - 1u);
    let row = (row0 + own_t) * params.num_heads + group.y;
    let queries = Queries(t + vec4u(0u, 1u, 2u, 3u), spread_starts(segment_start[row0 + own_t]),
      spread_row(log_sum_exp[row]) * LOG2_E, spread_row(delta[row]));
    let source = head0 + own_t * stride + lane / 4u * 4u;
    var query = Tile();
    var d_query = Tile();
    load_query(0u, source, &query, &d_query);
    load_query(1u, source, &query, &d_query);
    load_query(2u, source, &query, &d_query);
    load_query(3u, source, &query, &d_query);
    var s = score(&key, &query);
    var dp = score(&value, &d_query);
    gradients(0u, keys.x, queries, &s, &dp);
    gradients(1u, keys[SLICES % 4u], queries, &s, &dp);
    gradients(2u, keys[2u * SLICES % 4u], queries, &s, &dp);
    gradients(3u, keys[3u * SLICES % 4u], queries, &s, &dp);
    weigh(&s, &d_query, &d_value);
    weigh(&dp, &query, &d_key);
  }
  var d_key_result = d_key;
  var d_value_result = d_value;
  for (var i = 0u; i < params.slot_parts; i++) {
    if (wanted[i / 8u] < length) {
      let target_part = at[i / 8u] + i % (SLICES * 8u);
      dk[target_part] = d_key_result.part[i] * scale;
      dv[target_part] = d_value_result.part[i];
    }
  }
}
