// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
// exp(q[t] . k[j] / sqrt(D) - log_sum_exp[t]) over segment_start[t] <= j <= t, and delta[t] = d_out[t] .
// out[t], which is also written for the gradient of the keys. For each head; the forward pass is
// attention_forward_subgroup8.wgsl.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For adapters whose subgroups have exactly 8 lanes: each
// lane owns whole queries; slots, rows and their products are in attention_slots_subgroup8.wgsl.
// Bindings: q, k, v, out, d_out (B, T, H, D) read; log_sum_exp (B, T, H) read; segment_start (B, T) read;
//   delta (B, T, H) write; dq (B, T, H, D) write.
// Grid: x = ceil(T * D / 1024) query tiles, y = H, z = B; one subgroup per tile; query n of lane l is 8 n + l
//   of the tile.
// Numerics: f32, exponentials of base 2, keys ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
// #include attention_slots_subgroup8.wgsl
struct Params { sequence_length: u32, num_heads: u32, slot_parts: u32 }

override QUERIES: u32 = 32u / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> out: array<vec4f>;
@group(0) @binding(4) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(5) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(6) var<storage, read> segment_start: array<u32>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;
@group(0) @binding(8) var<storage, read_write> dq: array<vec4f>;
@group(0) @binding(9) var<uniform> params: Params;

fn load_key(slice: u32, at: u32, key: ptr<function, Row>, value: ptr<function, Row>) {
  if (slice >= SLICES) { return; }
  (*key).slice[slice] = k[at + slice * 8u];
  (*value).slice[slice] = v[at + slice * 8u];
}

// Turns the score of the lane's query n into its gradient, without the factor 1 / sqrt(D).
fn gradients(n: u32, t: u32, start: u32, key: u32, log2_sum: f32, row_delta: f32, s: ptr<function, Scores>,
             dp: ptr<function, Scores>) {
  if (n * SLICES >= 4u) { return; }
  let ds = exp2((*s).row[n] - log2_sum) * ((*dp).row[n] - row_delta);
  (*s).row[n] = select(0f, ds, key >= start && key <= t);
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let length = params.sequence_length;
  let first = group.x * QUERIES;
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  // The query of each slot. Past the sequence's end the last query is repeated, and not stored.
  let wanted = first + lane + 8u * (vec4u(0u, 1u, 2u, 3u) / SLICES);
  let t = min(wanted, vec4u(length - 1u));
  let starts = vec4u(segment_start[row0 + t.x], segment_start[row0 + t.y], segment_start[row0 + t.z],
    segment_start[row0 + t.w]);
  let at = head0 + t * stride;
  let rows = (row0 + t) * params.num_heads + group.y;
  let logs = LOG2_E *
    vec4f(log_sum_exp[rows.x], log_sum_exp[rows.y], log_sum_exp[rows.z], log_sum_exp[rows.w]);
  let scale = inverseSqrt(f32(HEAD_DIM));
  var query = Slots();
  var d_query = Slots();
  var delta_sums = vec4f();
  for (var i = 0u; i < params.slot_parts; i++) {
    let source = at[i / 8u] + i % (SLICES * 8u);
    let d = d_out[source];
    query.part[i] = q[source] * (scale * LOG2_E);
    d_query.part[i] = d;
    delta_sums[i / (SLICES * 8u)] += dot(d, out[source]);
  }
  let deltas = delta_sums;
  var sum = Slots();
  let last = min(first + QUERIES, length) - 1u;
  var keep = Scores(array(1f, 1f, 1f, 1f));
  for (var t_key = segment_start[row0 + first]; t_key <= last; t_key++) {
    let row = head0 + t_key * stride + lane;
    var key = Row();
    var value = Row();
    load_key(0u, row, &key, &value);
    load_key(1u, row, &key, &value);
    load_key(2u, row, &key, &value);
    load_key(3u, row, &key, &value);
    var s = score(&query, &key);
    var dp = score(&d_query, &value);
    gradients(0u, t.x, starts.x, t_key, logs.x, deltas.x, &s, &dp);
    gradients(1u, t[SLICES % 4u], starts[SLICES % 4u], t_key, logs[SLICES % 4u], deltas.y, &s, &dp);
    gradients(2u, t[2u * SLICES % 4u], starts[2u * SLICES % 4u], t_key, logs[2u * SLICES % 4u], deltas.z, &s, &dp);
    gradients(3u, t[3u * SLICES % 4u], starts[3u * SLICES % 4u], t_key, logs[3u * SLICES % 4u], deltas.w, &s, &dp);
    weigh(&keep, &s, &key, &sum);
  }
  var result = sum;
  for (var i = 0u; i < params.slot_parts; i++) {
    let slot = i / 8u;
    if (wanted[slot] < length) {
      dq[at[slot] + i % (SLICES * 8u)] = result.part[i] * scale;
      if (i % (SLICES * 8u) == 0u) { delta[rows[slot]] = deltas[slot / SLICES]; }
    }
  }
}
