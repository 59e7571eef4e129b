// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
// log_sum_exp[t] = log of the softmax's denominator, for the backward pass. Nothing of size T x T is stored.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 1. For any adapter; slices and tiles are in
// attention_slices_tiled.wgsl.
// Bindings: q, k, v (B, T, H, D) read; segment_start (B, T) read; out (B, T, H, D) write; log_sum_exp (B, T, H) write.
// Grid: x = ceil(T * D / 2048) query tiles, y = H, z = B; 64 threads a tile.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535.
struct Params { sequence_length: u32, num_heads: u32 }

override QUERIES: u32 = 64u / SLICES;

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

fn load_tile(first_key: u32, head0: u32, stride: u32, thread: u32) {
  for (var i = thread; i < TILE_ROWS * (HEAD_DIM / 4u); i += THREADS) {
    let row = min(first_key + i / (HEAD_DIM / 4u), params.sequence_length - 1u);
    let at = head0 + row * stride + i % (HEAD_DIM / 4u);
    tile[i] = k[at];
    tile[TILE_ROWS * (HEAD_DIM / 4u) + i] = v[at];
  }
}

fn store_half(at: u32, x: mat4x4f) {
  out[at] = x[0];
  out[at + 1u] = x[1];
  out[at + 2u] = x[2];
  out[at + 3u] = x[3];
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let length = params.sequence_length;
  let first = group.x * QUERIES;
  let slice = thread % SLICES;
  let wanted = first + thread / SLICES;
  // Past the sequence's end the last query again, which is not stored.
  let t = min(wanted, length - 1u);
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let at = head0 + t * stride + slice * 8u;
  let start = segment_start[row0 + t];
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  let query0 = mat4x4f(q[at], q[at + 1u], q[at + 2u], q[at + 3u]) * scale;
  let query1 = mat4x4f(q[at + 4u], q[at + 5u], q[at + 6u], q[at + 7u]) * scale;
  var largest = MASKED;
  var sum = 0f;
  var sum0 = mat4x4f();
  var sum1 = mat4x4f();
  let last = min(first + QUERIES, length) - 1u;
  for (var key = segment_start[row0 + first] / TILE_ROWS * TILE_ROWS; key <= last; key += TILE_ROWS) {
    workgroupBarrier();
    load_tile(key, head0, stride, thread);
    workgroupBarrier();
    let s = sum_slices(dot_slices(query0, query1, 0u, slice), thread);
    let keys_low = key + vec4u(0u, 1u, 2u, 3u);
    let keys_high = keys_low + 4u;
    let visible_low = (keys_low >= vec4u(start)) & (keys_low <= vec4u(t));
    let visible_high = (keys_high >= vec4u(start)) & (keys_high <= vec4u(t));
    let low = select(vec4f(MASKED), s[0], visible_low);
    let high = select(vec4f(MASKED), s[1], visible_high);
    let larger = max(low, high);
    let new_largest = max(largest, max(max(larger.x, larger.y), max(larger.z, larger.w)));
    let shrink = exp2(largest - new_largest);
    largest = new_largest;
    let weights = mat2x4f(select(vec4f(0f), exp2(low - largest), visible_low),
      select(vec4f(0f), exp2(high - largest), visible_high));
    let pairs = weights[0] + weights[1];
    sum = fma(sum, shrink, (pairs.x + pairs.y) + (pairs.z + pairs.w));
    sum0 = sum0 * shrink + weigh_half(weights, 1u, slice, 0u);
    sum1 = sum1 * shrink + weigh_half(weights, 1u, slice, 1u);
  }
  if (wanted >= length) { return; }
  store_half(at, sum0 * (1f / sum));
  store_half(at + 4u, sum1 * (1f / sum));
  if (slice == 0u) { log_sum_exp[(row0 + t) * params.num_heads + group.y] = (largest + log2(sum)) * LN_2; }
}
