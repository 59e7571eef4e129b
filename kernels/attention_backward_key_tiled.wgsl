// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
// segment_start[t] <= j <= t; p, ds and delta as in attention_backward_query_tiled.wgsl, which runs before.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For any adapter; slices and tiles are in
// attention_slices_tiled.wgsl.
// Bindings: q, k, v, d_out (B, T, H, D) read; log_sum_exp, delta (B, T, H) read; segment_start (B, T) read;
//   dk, dv (B, T, H, D) write.
// Grid: x = ceil(T * D / 2048) key tiles, y = H, z = B; 64 threads a tile.
// Numerics: f32, exponentials of base 2, queries ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32 }

override KEYS: u32 = 64u / SLICES;

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

// Of each query of the tile; past the sequence's end, a start that no key reaches.
var<workgroup> tile_start: array<u32, 8>;
var<workgroup> tile_log2_sum: array<f32, 8>;
var<workgroup> tile_delta: array<f32, 8>;

fn load_k(at: u32) -> mat4x4f { return mat4x4f(k[at], k[at + 1u], k[at + 2u], k[at + 3u]); }
fn load_v(at: u32) -> mat4x4f { return mat4x4f(v[at], v[at + 1u], v[at + 2u], v[at + 3u]); }

fn load_tile(first_t: u32, row0: u32, head0: u32, stride: u32, group: vec3u, thread: u32) {
  let length = params.sequence_length;
  for (var i = thread; i < TILE_ROWS * (HEAD_DIM / 4u); i += THREADS) {
    let t = min(first_t + i / (HEAD_DIM / 4u), length - 1u);
    let at = head0 + t * stride + i % (HEAD_DIM / 4u);
    tile[i] = q[at];
    tile[TILE_ROWS * (HEAD_DIM / 4u) + i] = d_out[at];
  }
  if (thread < TILE_ROWS) {
    let t = min(first_t + thread, length - 1u);
    let row = (row0 + t) * params.num_heads + group.y;
    tile_start[thread] = select(length, segment_start[row0 + t], first_t + thread < length);
    tile_log2_sum[thread] = log_sum_exp[row] * LOG2_E;
    tile_delta[thread] = delta[row];
  }
}

// The probability with which query i of the tile looks at the key.
fn weight(i: u32, first_t: u32, key: u32, s: f32) -> f32 {
  let is_visible = tile_start[i] <= key && key <= first_t + i;
  return select(0f, exp2(s - tile_log2_sum[i]), is_visible);
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

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let length = params.sequence_length;
  let first = group.x * KEYS;
  let slice = thread % SLICES;
  let wanted = first + thread / SLICES;
  // Past the sequence's end the last key again, which is not stored.
  let key = min(wanted, length - 1u);
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let at = head0 + key * stride + slice * 8u;
  let scale = inverseSqrt(f32(HEAD_DIM));
  let key0 = load_k(at) * (scale * LOG2_E);
  let key1 = load_k(at + 4u) * (scale * LOG2_E);
  let value0 = load_v(at);
  let value1 = load_v(at + 4u);
  var d_key0 = mat4x4f();
  var d_key1 = mat4x4f();
  var d_value0 = mat4x4f();
  var d_value1 = mat4x4f();
  let last = min(first + KEYS, length) - 1u;
  for (var t = first / TILE_ROWS * TILE_ROWS; t < length; t += TILE_ROWS) {
    if (segment_start[row0 + t] > last) { break; }
    workgroupBarrier();
    load_tile(t, row0, head0, stride, group, thread);
    workgroupBarrier();
    let s = sum_slices(dot_slices(key0, key1, 0u, slice), thread);
    let dp = sum_slices(dot_slices(value0, value1, 1u, slice), thread);
    let weights = mat2x4f(
      vec4f(weight(0u, t, key, s[0].x), weight(1u, t, key, s[0].y), weight(2u, t, key, s[0].z),
        weight(3u, t, key, s[0].w)),
      vec4f(weight(4u, t, key, s[1].x), weight(5u, t, key, s[1].y), weight(6u, t, key, s[1].z),
        weight(7u, t, key, s[1].w)));
    let deltas = mat2x4f(vec4f(tile_delta[0], tile_delta[1], tile_delta[2], tile_delta[3]),
      vec4f(tile_delta[4], tile_delta[5], tile_delta[6], tile_delta[7]));
    let ds = mat2x4f(weights[0] * (dp[0] - deltas[0]), weights[1] * (dp[1] - deltas[1]));
    d_value0 += weigh_half(weights, 1u, slice, 0u);
    d_value1 += weigh_half(weights, 1u, slice, 1u);
    d_key0 += weigh_half(ds, 0u, slice, 0u);
    d_key1 += weigh_half(ds, 0u, slice, 1u);
  }
  if (wanted >= length) { return; }
  store_dk(at, d_key0 * scale);
  store_dk(at + 4u, d_key1 * scale);
  store_dv(at, d_value0);
  store_dv(at + 4u, d_value1);
}
