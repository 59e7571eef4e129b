// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
// segment_start[t] <= j <= t; p, ds and delta as in attention_backward_query_tiled.wgsl, which runs before.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For any adapter; slices and tiles are in
// attention_slices_tiled.wgsl.
// Bindings: q, k, v, d_out (B, T, H, D) read; log_sum_exp, delta (B, T, H) read; segment_start (B, T) read;
//   dk, dv (B, T, H, D) write.
// Grid: x = ceil(T * D / 2048) key tiles, y = H, z = B; 64 threads a tile.
// Numerics: f32, exponentials of base 2, queries ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32, slice_parts: u32, tile_rows: u32 }

override KEYS: u32 = THREADS / SLICES;

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

// The segment start of each query of the tile; past the sequence's end, a start that no key reaches.
var<workgroup> tile_start: array<u32, 16>;
var<workgroup> tile_log2_sum: array<f32, 16>;
var<workgroup> tile_delta: array<f32, 16>;

fn load_tile(first_t: u32, row0: u32, head: u32, stride: u32, thread: u32) {
  let length = params.sequence_length;
  for (var i = thread; i < TILE_PARTS; i += THREADS) {
    let t = min(first_t + i / (HEAD_DIM / 4u), length - 1u);
    let at = (row0 + t) * stride + head * (HEAD_DIM / 4u) + i % (HEAD_DIM / 4u);
    tile[i] = q[at];
    tile[TILE_PARTS + i] = d_out[at];
  }
  if (thread < params.tile_rows) {
    let t = min(first_t + thread, length - 1u);
    let row = (row0 + t) * params.num_heads + head;
    tile_start[thread] = select(length, segment_start[row0 + t], first_t + thread < length);
    tile_log2_sum[thread] = log_sum_exp[row] * LOG2_E;
    tile_delta[thread] = delta[row];
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let length = params.sequence_length;
  let first = group.x * KEYS;
  let wanted = first + thread / SLICES;
  // Past the sequence's end the last key again, which is not stored.
  let own = min(wanted, length - 1u);
  let row0 = group.z * length;
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let slice = thread % SLICES * 8u;
  let at = (row0 + own) * stride + group.y * (HEAD_DIM / 4u) + slice;
  let scale = inverseSqrt(f32(HEAD_DIM));
  var key = Slice();
  var value = Slice();
  for (var i = 0u; i < params.slice_parts; i++) {
    key.part[i] = k[at + i] * (scale * LOG2_E);
    value.part[i] = v[at + i];
  }
  var d_key = Slice();
  var d_value = Slice();
  let last = min(first + KEYS, length) - 1u;
  for (var t = first; t < length; t += params.tile_rows) {
    if (segment_start[row0 + t] > last) { break; }
    workgroupBarrier();
    load_tile(t, row0, group.y, stride, thread);
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      let part = j * (HEAD_DIM / 4u) + slice;
      first_dots[j * THREADS + thread] = dot_slice(&key, part);
      second_dots[j * THREADS + thread] = dot_slice(&value, TILE_PARTS + part);
    }
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      let part = j * (HEAD_DIM / 4u) + slice;
      let is_visible = tile_start[j] <= own && own <= t + j;
      let weight = select(0f, exp2(first_dot(j, thread) - tile_log2_sum[j]), is_visible);
      add_slice(&d_value, weight, TILE_PARTS + part);
      add_slice(&d_key, weight * (second_dot(j, thread) - tile_delta[j]), part);
    }
  }
  if (wanted >= length) { return; }
  for (var i = 0u; i < params.slice_parts; i++) {
    dk[at + i] = d_key.part[i] * scale;
    dv[at + i] = d_value.part[i];
  }
}
