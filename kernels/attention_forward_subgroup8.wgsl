// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
// log_sum_exp[t] = log of the softmax's denominator, for the backward pass. Nothing of size T x T is stored.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 1; Milakov and Gimelshein, Online normalizer calculation
// for softmax, 2018. For adapters whose subgroups have exactly 8 lanes (lavapipe): each lane owns whole queries, so the
// softmax needs no exchange between lanes; slots, tiles and their products are in attention_slots_subgroup8.wgsl.
// Bindings: q, k, v (B, T, H, D) read; segment_start (B, T) read; out (B, T, H, D) write; log_sum_exp (B, T, H) write.
// Grid: x = ceil(T * D / 1024) query tiles, y = H, z = B; one subgroup a tile; query n of lane l is 8 n + l
//   of the tile.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535.
struct Params { sequence_length: u32, num_heads: u32, slot_parts: u32 }

override QUERIES: u32 = 32u / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> segment_start: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> log_sum_exp: array<f32>;
@group(0) @binding(6) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;
const LN_2 = 0.6931471805599453f;
// Below every score, and finite, so that the difference of two is not NaN.
const MASKED = -1e30f;

// Of each of the lane's queries: the largest score so far, the sum of 2^(score - largest).
struct Softmax { largest: array<f32, 4>, sum: array<f32, 4> }

fn load_k(at: u32) -> mat4x4f { return mat4x4f(k[at], k[at + 1u], k[at + 2u], k[at + 3u]); }
fn load_v(at: u32) -> mat4x4f { return mat4x4f(v[at], v[at + 1u], v[at + 2u], v[at + 3u]); }

fn load_key(slice: u32, at: u32, tile: ptr<function, Tile>) {
  if (slice < SLICES) { (*tile).slice[slice] = load_k(at + slice * 8u); }
}

fn load_value(slice: u32, at: u32, tile: ptr<function, Tile>) {
  if (slice < SLICES) { (*tile).slice[slice] = load_v(at + slice * 8u); }
}

fn scale_slot(slot: u32, factor: f32, sum: ptr<function, Slots>) {
  (*sum).part[slot * 8u] *= factor;
  (*sum).part[slot * 8u + 1u] *= factor;
  (*sum).part[slot * 8u + 2u] *= factor;
  (*sum).part[slot * 8u + 3u] *= factor;
  (*sum).part[slot * 8u + 4u] *= factor;
  (*sum).part[slot * 8u + 5u] *= factor;
  (*sum).part[slot * 8u + 6u] *= factor;
  (*sum).part[slot * 8u + 7u] *= factor;
}

// Turns the scores of the lane's query n into weights, and the sums so far to the new largest score.
fn weights(n: u32, t: u32, start: u32, first_key: u32, s: ptr<function, Scores>, softmax: ptr<function, Softmax>,
           sum: ptr<function, Slots>) {
  if (n * SLICES >= 4u) { return; }
  let keys = first_key + vec4u(0u, 1u, 2u, 3u);
  let visible = (keys >= vec4u(start)) & (keys <= vec4u(t));
  let scores = select(vec4f(MASKED), (*s).row[n], visible);
  let largest = max((*softmax).largest[n], max(max(scores.x, scores.y), max(scores.z, scores.w)));
  let shrink = exp2((*softmax).largest[n] - largest);
  let weight = select(vec4f(0f), exp2(scores - largest), visible);
  (*softmax).largest[n] = largest;
  (*softmax).sum[n] = fma((*softmax).sum[n], shrink, (weight.x + weight.y) + (weight.z + weight.w));
  (*s).row[n] = weight;
  scale_slot(n * SLICES, shrink, sum);
  if (SLICES >= 2u) { scale_slot(n * SLICES + 1u, shrink, sum); }
  if (SLICES >= 4u) {
    scale_slot(n * SLICES + 2u, shrink, sum);
    scale_slot(n * SLICES + 3u, shrink, sum);
  }
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let length = params.sequence_length;
  let first = group.x * QUERIES;
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  // The query of each slot; past the sequence's end the last one again, which is not stored.
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
  for (var key = segment_start[row0 + first] / 4u * 4u; key <= last; key += 4u) {
    let source = head0 + min(key + lane % 4u, length - 1u) * stride + lane / 4u * 4u;
    var tile = Tile();
    load_key(0u, source, &tile);
    load_key(1u, source, &tile);
    load_key(2u, source, &tile);
    load_key(3u, source, &tile);
    var s = score(&own, &tile);
    weights(0u, t.x, starts.x, key, &s, &softmax, &sum);
    weights(1u, t[SLICES % 4u], starts[SLICES % 4u], key, &s, &softmax, &sum);
    weights(2u, t[2u * SLICES % 4u], starts[2u * SLICES % 4u], key, &s, &softmax, &sum);
    weights(3u, t[3u * SLICES % 4u], starts[3u * SLICES % 4u], key, &s, &softmax, &sum);
    load_value(0u, source, &tile);
    load_value(1u, source, &tile);
    load_value(2u, source, &tile);
    load_value(3u, source, &tile);
    weigh(&s, &tile, &sum);
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
