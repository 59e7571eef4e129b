// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
// exp(q[t] . k[j] / sqrt(D) - log_sum_exp[t]) over segment_start[t] <= j <= t, and delta[t] = d_out[t] . out[t], which is
// also written, for the keys' gradient. For each head; the forward pass is attention_forward_tiled.wgsl.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For any adapter; slices and tiles are in
// attention_slices_tiled.wgsl.
// Bindings: q, k, v, out, d_out (B, T, H, D) read; log_sum_exp (B, T, H) read; segment_start (B, T) read;
//   delta (B, T, H) write; dq (B, T, H, D) write.
// Grid: x = ceil(T * D / 2048) query tiles, y = H, z = B; 64 threads a tile.
// Numerics: f32, exponentials of base 2, keys ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32 }

override QUERIES: u32 = 64u / SLICES;

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

const LOG2_E = 1.4426950408889634f;

fn load_q(at: u32) -> mat4x4f { return mat4x4f(q[at], q[at + 1u], q[at + 2u], q[at + 3u]); }
fn load_out(at: u32) -> mat4x4f { return mat4x4f(out[at], out[at + 1u], out[at + 2u], out[at + 3u]); }
fn load_d_out(at: u32) -> mat4x4f { return mat4x4f(d_out[at], d_out[at + 1u], d_out[at + 2u], d_out[at + 3u]); }

fn load_tile(first_key: u32, head0: u32, stride: u32, thread: u32) {
  for (var i = thread; i < TILE_ROWS * (HEAD_DIM / 4u); i += THREADS) {
    let row = min(first_key + i / (HEAD_DIM / 4u), params.sequence_length - 1u);
    let at = head0 + row * stride + i % (HEAD_DIM / 4u);
    tile[i] = k[at];
    tile[TILE_ROWS * (HEAD_DIM / 4u) + i] = v[at];
  }
}

fn store_half(at: u32, x: mat4x4f) {
  dq[at] = x[0];
  dq[at + 1u] = x[1];
  dq[at + 2u] = x[2];
  dq[at + 3u] = x[3];
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
  let row = (row0 + t) * params.num_heads + group.y;
  let start = segment_start[row0 + t];
  let log2_sum = log_sum_exp[row] * LOG2_E;
  let scale = inverseSqrt(f32(HEAD_DIM));
  let query0 = load_q(at) * (scale * LOG2_E);
  let query1 = load_q(at + 4u) * (scale * LOG2_E);
  let d_query0 = load_d_out(at);
  let d_query1 = load_d_out(at + 4u);
  let part = dot_half(d_query0, load_out(at)) + dot_half(d_query1, load_out(at + 4u));
  let row_delta = sum_slices(mat2x4f(vec4f(part), vec4f()), thread)[0].x;
  var sum0 = mat4x4f();
  var sum1 = mat4x4f();
  let last = min(first + QUERIES, length) - 1u;
  for (var key = segment_start[row0 + first] / TILE_ROWS * TILE_ROWS; key <= last; key += TILE_ROWS) {
    workgroupBarrier();
    load_tile(key, head0, stride, thread);
    workgroupBarrier();
    let s = sum_slices(dot_slices(query0, query1, 0u, slice), thread);
    let dp = sum_slices(dot_slices(d_query0, d_query1, 1u, slice), thread);
    let keys_low = key + vec4u(0u, 1u, 2u, 3u);
    let keys_high = keys_low + 4u;
    let visible_low = (keys_low >= vec4u(start)) & (keys_low <= vec4u(t));
    let visible_high = (keys_high >= vec4u(start)) & (keys_high <= vec4u(t));
    let ds = mat2x4f(select(vec4f(0f), exp2(s[0] - log2_sum) * (dp[0] - row_delta), visible_low),
      select(vec4f(0f), exp2(s[1] - log2_sum) * (dp[1] - row_delta), visible_high));
    sum0 += weigh_half(ds, 0u, slice, 0u);
    sum1 += weigh_half(ds, 0u, slice, 1u);
  }
  if (wanted >= length) { return; }
  store_half(at, sum0 * scale);
  store_half(at + 4u, sum1 * scale);
  if (slice == 0u) { delta[row] = row_delta; }
}
