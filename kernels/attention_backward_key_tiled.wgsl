// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j
// (segment_start[t] <= j <= t); p, ds and delta as in attention_backward_query_tiled.wgsl, which runs before.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For any adapter; tiles are in
// attention_tiles_tiled.wgsl.
// Bindings: q, k, v, d_out (B, T, H, D) read; log_sum_exp, delta (B, T, H) read; segment_start (B, T) read;
//   dk, dv (B, T, H, D) write.
// Grid: x = ceil(T * D / 4096) key tiles, y = H, z = B; 64 threads per tile.
// Numerics: f32, exponentials of base 2, queries ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
// #include attention_tiles_tiled.wgsl
struct Params { sequence_length: u32, num_heads: u32, one: u32 }

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

override OTHER_PARTS: u32 = HEAD_DIM / 8u;

// 0: keys and queries; 1: values and gradients of outputs.
fn own_rows(which: u32, at: vec4u) -> mat4x4f {
  if (which == 0u) { return mat4x4f(k[at.x], k[at.y], k[at.z], k[at.w]); }
  return mat4x4f(v[at.x], v[at.y], v[at.z], v[at.w]);
}

fn other_rows(which: u32, at: vec4u) -> mat4x4f {
  if (which == 0u) { return mat4x4f(q[at.x], q[at.y], q[at.z], q[at.w]); }
  return mat4x4f(d_out[at.x], d_out[at.y], d_out[at.z], d_out[at.w]);
}

// p of query t for four keys.
fn weights(scores: vec4f, t: u32, row0: u32, head: u32, keys: vec4u) -> vec4f {
  let row = row0 + min(t, params.sequence_length - 1u);
  let start = segment_start[row];
  let is_seen = (keys >= vec4u(start)) & (keys <= vec4u(t));
  let p = exp2(log2_scale() * scores - log_sum_exp[row * params.num_heads + head] * LOG2_E);
  return select(vec4f(0f), p, is_seen & vec4<bool>(t < params.sequence_length));
}

fn weights4(scores: mat4x4f, t: u32, row0: u32, head: u32, keys: vec4u) -> mat4x4f {
  return mat4x4f(weights(scores[0], t, row0, head, keys), weights(scores[1], t + 1u, row0, head, keys),
    weights(scores[2], t + 2u, row0, head, keys), weights(scores[3], t + 3u, row0, head, keys));
}

fn d_scores(p: mat4x4f, products: mat4x4f, row_delta: vec4f) -> mat4x4f {
  return mat4x4f(p[0] * (products[0] - row_delta.x), p[1] * (products[1] - row_delta.y),
    p[2] * (products[2] - row_delta.z), p[3] * (products[3] - row_delta.w));
}

fn store(which: u32, at: u32, x: vec4f) {
  if (which == 0u) { dk[at] = x; } else { dv[at] = x; }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let tx = thread % THREADS_X;
  let ty = thread / THREADS_X;
  let head = head_of(group, params.sequence_length, params.num_heads);
  let row0 = group.z * head.length;
  let first = group.x * OWN_ROWS;
  let last = min(first + OWN_ROWS, head.length) - 1u;
  let row = first + 8u * ty;
  let low = vec4u(row) + vec4u(0u, 1u, 2u, 3u);
  let high = low + 4u;
  var d_key = Sums();
  var d_value = Sums();
  for (var t = first; t < head.length; t += OTHER_ROWS) {
    if (segment_start[row0 + t] > last) { break; }
    var scores = HalfSums();
    var products = HalfSums();
    for (var which = 0u; which < 2u; which++) {
      scores = products;
      products = HalfSums();
      for (var d = 0u; d < times(HEAD_PARTS); d += 4u) {
        load_dims(which, head, first, t, d, thread);
        for (var i = 0u; i < times(4u); i++) {
          let y = own_place(i, 2u * ty);
          add_half_steps(&products, other_place(i, tx), y, y ^ 1u);
        }
      }
    }
    let part = t + 4u * tx;
    let at = (row0 + four_rows(head, part)) * params.num_heads + group.y;
    let row_delta = vec4f(delta[at.x], delta[at.y], delta[at.z], delta[at.w]);
    scores = HalfSums(weights4(scores.s0, part, row0, group.y, low), weights4(scores.s1, part, row0, group.y, high));
    products = HalfSums(d_scores(scores.s0, products.s0, row_delta), d_scores(scores.s1, products.s1, row_delta));
    for (var which = 0u; which < 2u; which++) {
      for (var i = 0u; i < OTHER_ROWS && t + i < head.length; i += 16u) {
        workgroupBarrier();
        if (i == 0u) {
          if (which == 1u) { scores = products; }
          store_weights(tx, ty, scores.s0, scores.s1);
        }
        load_rows(1u - which, head, t + i, thread);
        workgroupBarrier();
        if (which == 0u) {
          add_weighted(&d_value, i / 4u, tx, ty);
        } else {
          add_weighted(&d_key, i / 4u, tx, ty);
        }
      }
    }
  }
  for (var i = 0u; i < times(4u); i++) {
    let block_row = row + i / 2u * 4u;
    let at = head.first + block_row * head.stride + tx + i % 2u * THREADS_X;
    store_rows(0u, at, head.stride, block_of_sums(d_key, i) * inverseSqrt(f32(HEAD_DIM)), block_row);
    store_rows(1u, at, head.stride, block_of_sums(d_value, i), block_row);
  }
}
