// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j
// (segment_start[t] <= j <= t); p, ds and delta as in attention_backward_query_subgroup8.wgsl, which runs
// before.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For adapters whose subgroups have exactly 8 lanes: each
// lane owns whole keys; slots, rows and their products are in attention_slots_subgroup8.wgsl.
// Bindings: q, k, v, d_out (B, T, H, D) read; log_sum_exp, delta (B, T, H) read; segment_start (B, T) read;
//   dk, dv (B, T, H, D) write.
// Grid: x = ceil(T * D / 1024) key tiles, y = H, z = B; one subgroup per tile; key n of lane l is 8 n + l of
//   the tile.
// Numerics: f32, exponentials of base 2, queries ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
// #include attention_slots_subgroup8.wgsl
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

fn load_query(slice: u32, at: u32, query: ptr<function, Row>, d_query: ptr<function, Row>) {
  if (slice >= SLICES) { return; }
  (*query).slice[slice] = q[at + slice * 8u];
  (*d_query).slice[slice] = d_out[at + slice * 8u];
}

// A query's values.
struct Query { t: u32, start: u32, log2_sum: f32, delta: f32 }

// For the lane's key n: turns the score into a weight, and the weight's gradient into the score's, without
// the factor 1 / sqrt(D).
fn gradients(n: u32, key: u32, of_query: Query, s: ptr<function, Scores>, dp: ptr<function, Scores>) {
  if (n * SLICES >= 4u) { return; }
  let visible = of_query.start <= key && key <= of_query.t;
  let weight = select(0f, exp2((*s).row[n] - of_query.log2_sum), visible);
  (*s).row[n] = weight;
  (*dp).row[n] = weight * ((*dp).row[n] - of_query.delta);
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let length = params.sequence_length;
  let first = group.x * KEYS;
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  // The key of each slot. Past the sequence's end the last key is repeated, and not stored.
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
  var keep = Scores(array(1f, 1f, 1f, 1f));
  for (var t = first; t < length; t++) {
    let start = segment_start[row0 + t];
    if (start > last) { break; }
    let row = (row0 + t) * params.num_heads + group.y;
    let of_query = Query(t, start, log_sum_exp[row] * LOG2_E, delta[row]);
    let source = head0 + t * stride + lane;
    var query = Row();
    var d_query = Row();
    load_query(0u, source, &query, &d_query);
    load_query(1u, source, &query, &d_query);
    load_query(2u, source, &query, &d_query);
    load_query(3u, source, &query, &d_query);
    var s = score(&key, &query);
    var dp = score(&value, &d_query);
    gradients(0u, keys.x, of_query, &s, &dp);
    gradients(1u, keys[SLICES % 4u], of_query, &s, &dp);
    gradients(2u, keys[2u * SLICES % 4u], of_query, &s, &dp);
    gradients(3u, keys[3u * SLICES % 4u], of_query, &s, &dp);
    weigh(&keep, &s, &d_query, &d_value);
    weigh(&keep, &dp, &query, &d_key);
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
