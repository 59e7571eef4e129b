// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
// log_sum_exp[t] = log of the softmax's denominator, for the backward pass. Nothing of size T x T is stored.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 1; Milakov and Gimelshein, Online normalizer calculation
// for softmax, 2018. For adapters whose subgroups have exactly 8 lanes (lavapipe): each lane owns whole queries, so the
// softmax needs no exchange between lanes; slots, rows and their products are in attention_slots_subgroup8.wgsl, the
// softmax in attention_softmax_subgroup8.wgsl.
// Bindings: q, k, v (B, T, H, D) read; segment_start (B, T) read; out (B, T, H, D) write; log_sum_exp (B, T, H) write.
// Grid: x = ceil(T * D / 1024) query tiles, y = H, z = B; one subgroup per tile; query n of lane l is 8 n + l
//   of the tile.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535.
// #include attention_slots_subgroup8.wgsl
// #include attention_softmax_subgroup8.wgsl
struct Params { sequence_length: u32, num_heads: u32, slot_parts: u32 }

override QUERIES: u32 = 32u / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> segment_start: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> log_sum_exp: array<f32>;
@group(0) @binding(6) var<uniform> params: Params;

const LN_2 = 0.6931471805599453f;

// Whether the query at t of a segment sees a key.
fn visible(key: u32, start: u32, t: u32) -> bool { return key >= start && key <= t; }

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
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  var own = Slots();
  for (var i = 0u; i < params.slot_parts; i++) {
    own.part[i] = q[at[i / 8u] + i % (SLICES * 8u)] * scale;
  }
  var sum = Slots();
  var softmax = Softmax(array(MASKED, MASKED, MASKED, MASKED), array(0f, 0f, 0f, 0f));
  let last = min(first + QUERIES, length) - 1u;
  for (var key = segment_start[row0 + first]; key <= last; key++) {
    let source = head0 + key * stride + lane;
    var other = Row();
    load_key(0u, source, &other);
    load_key(1u, source, &other);
    load_key(2u, source, &other);
    load_key(3u, source, &other);
    var s = score(&own, &other);
    var keep = Scores();
    weight(0u, visible(key, starts.x, t.x), &s, &softmax, &keep);
    weight(1u, visible(key, starts[SLICES % 4u], t[SLICES % 4u]), &s, &softmax, &keep);
    weight(2u, visible(key, starts[2u * SLICES % 4u], t[2u * SLICES % 4u]), &s, &softmax, &keep);
    weight(3u, visible(key, starts[3u * SLICES % 4u], t[3u * SLICES % 4u]), &s, &softmax, &keep);
    load_value(0u, source, &other);
    load_value(1u, source, &other);
    load_value(2u, source, &other);
    load_value(3u, source, &other);
    weigh(&keep, &s, &other, &sum);
  }
  var result = sum;
  for (var i = 0u; i < params.slot_parts; i++) {
    if (wanted[i / 8u] < length) {
      out[at[i / 8u] + i % (SLICES * 8u)] = result.part[i] / softmax.sum[i / (SLICES * 8u)];
    }
  }
  let rows = (row0 + t) * params.num_heads + group.y;
  let largest = vec4f(softmax.largest[0], softmax.largest[1u / SLICES], softmax.largest[2u / SLICES],
    softmax.largest[3u / SLICES]);
  let sums = vec4f(softmax.sum[0], softmax.sum[1u / SLICES], softmax.sum[2u / SLICES], softmax.sum[3u / SLICES]);
  let logs = (largest + log2(sums)) * LN_2;
  if (wanted.x < length) { log_sum_exp[rows.x] = logs.x; }
  if (wanted.y < length) { log_sum_exp[rows.y] = logs.y; }
  if (wanted.z < length) { log_sum_exp[rows.z] = logs.z; }
  if (wanted.w < length) { log_sum_exp[rows.w] = logs.w; }
}
