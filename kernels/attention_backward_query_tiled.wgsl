// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
// exp(q[t] . k[j] / sqrt(D) - log_sum_exp[t]) over segment_start[t] <= j <= t, and delta[t] = d_out[t] .
// out[t], which is also written for the gradient of the keys. For each head; the forward pass is
// attention_forward_tiled.wgsl.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For any adapter; tiles are in
// attention_tiles_tiled.wgsl.
// Bindings: q, k, v, out, d_out (B, T, H, D) read; log_sum_exp (B, T, H) read; segment_start (B, T) read;
//   delta (B, T, H) write; dq (B, T, H, D) write.
// Grid: x = ceil(T * D / 4096) query tiles, y = H, z = B; 64 threads per tile.
// Numerics: f32, exponentials of base 2, keys ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
// #include attention_tiles_tiled.wgsl
struct Params { sequence_length: u32, num_heads: u32, one: u32 }

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

override OTHER_PARTS: u32 = HEAD_DIM / 8u;

// 0: queries and keys; 1: gradients of outputs and values.
fn own_rows(which: u32, at: vec4u) -> mat4x4f {
  if (which == 0u) { return mat4x4f(q[at.x], q[at.y], q[at.z], q[at.w]); }
  return d_out_rows(at);
}

fn other_rows(which: u32, at: vec4u) -> mat4x4f {
  if (which == 0u) { return mat4x4f(k[at.x], k[at.y], k[at.z], k[at.w]); }
  return mat4x4f(v[at.x], v[at.y], v[at.z], v[at.w]);
}

// Terms of the four queries t that are the same for all keys.
struct Queries { t: vec4u, start: vec4u, log2_sum: vec4f, delta: vec4f }

fn queries_of(t: vec4u, row0: u32, head: u32, row_delta: vec4f) -> Queries {
  let at = (row0 + t) * params.num_heads + head;
  let log_sum = vec4f(log_sum_exp[at.x], log_sum_exp[at.y], log_sum_exp[at.z], log_sum_exp[at.w]);
  return Queries(t, starts_of(row0 + t), log_sum * LOG2_E, row_delta);
}

// ds of a key for four queries, from their scores and from d_out . v.
fn d_score(score: vec4f, product: vec4f, key: u32, by: Queries) -> vec4f {
  let ds = exp2(log2_scale() * score - by.log2_sum) * (product - by.delta);
  return select(vec4f(0f), ds, (vec4u(key) >= by.start) & (vec4u(key) <= by.t));
}

fn d_scores(score: mat4x4f, product: mat4x4f, key: u32, by: Queries) -> mat4x4f {
  return mat4x4f(d_score(score[0], product[0], key, by), d_score(score[1], product[1], key + 1u, by),
    d_score(score[2], product[2], key + 2u, by), d_score(score[3], product[3], key + 3u, by));
}

// The part of d_out . out for a thread's queries and dims.
fn delta_parts(head: Head, low: vec4u, high: vec4u, tx: u32) -> Rows {
  var parts = Rows();
  for (var i = 0u; i < times(4u); i++) {
    let is_low = i < 2u;
    let at = head.first + select(high, low, is_low) * head.stride + tx + i % 2u * THREADS_X;
    let part = dots(d_out_rows(at), out_rows(at));
    parts = Rows(parts.low + select(vec4f(0f), part, is_low), parts.high + select(part, vec4f(0f), is_low));
  }
  return parts;
}

fn d_out_rows(at: vec4u) -> mat4x4f { return mat4x4f(d_out[at.x], d_out[at.y], d_out[at.z], d_out[at.w]); }

fn out_rows(at: vec4u) -> mat4x4f { return mat4x4f(out[at.x], out[at.y], out[at.z], out[at.w]); }

fn dots(x: mat4x4f, y: mat4x4f) -> vec4f {
  return vec4f(dot(x[0], y[0]), dot(x[1], y[1]), dot(x[2], y[2]), dot(x[3], y[3]));
}

fn store(which: u32, at: u32, x: vec4f) { dq[at] = x; }

fn store_delta(at: u32, value: vec4f, row: u32) {
  if (row < params.sequence_length) { delta[at] = value.x; }
  if (row + 1u < params.sequence_length) { delta[at + params.num_heads] = value.y; }
  if (row + 2u < params.sequence_length) { delta[at + 2u * params.num_heads] = value.z; }
  if (row + 3u < params.sequence_length) { delta[at + 3u * params.num_heads] = value.w; }
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
  let low = four_rows(head, row);
  let high = four_rows(head, row + 4u);
  let row_delta = over_threads(delta_parts(head, low, high, tx), true, tx, ty);
  let low_queries = queries_of(low, row0, group.y, row_delta.low);
  let high_queries = queries_of(high, row0, group.y, row_delta.high);
  var sums = Sums();
  for (var key = segment_start[row0 + first]; key <= last; key += OTHER_ROWS) {
    var scores = HalfSums();
    var products = HalfSums();
    for (var which = 0u; which < 2u; which++) {
      scores = products;
      products = HalfSums();
      for (var d = 0u; d < times(HEAD_PARTS); d += 4u) {
        load_dims(which, head, first, key, d, thread);
        for (var i = 0u; i < times(4u); i++) {
          let y = own_place(i, 2u * ty);
          add_half_steps(&products, other_place(i, tx), y, y ^ 1u);
        }
      }
    }
    workgroupBarrier();
    let part = key + 4u * tx;
    store_weights(tx, ty, d_scores(scores.s0, products.s0, part, low_queries),
      d_scores(scores.s1, products.s1, part, high_queries));
    for (var i = 0u; i < OTHER_ROWS && key + i <= last; i += 16u) {
      if (i > 0u) { workgroupBarrier(); }
      load_rows(0u, head, key + i, thread);
      workgroupBarrier();
      add_weighted(&sums, i / 4u, tx, ty);
    }
  }
  for (var i = 0u; i < times(4u); i++) {
    let block_row = row + i / 2u * 4u;
    let at = head.first + block_row * head.stride + tx + i % 2u * THREADS_X;
    store_rows(0u, at, head.stride, block_of_sums(sums, i) * inverseSqrt(f32(HEAD_DIM)), block_row);
  }
  if (tx > 0u) { return; }
  let delta_at = (row0 + row) * params.num_heads + group.y;
  store_delta(delta_at, row_delta.low, row);
  store_delta(delta_at + 4u * params.num_heads, row_delta.high, row + 4u);
}
