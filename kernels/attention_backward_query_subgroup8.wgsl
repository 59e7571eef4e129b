// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
// exp(q[t] . k[j] / sqrt(D) - log_sum_exp[t]) over segment_start[t] <= j <= t, and delta[t] = d_out[t] . out[t], which is
// also written, for the keys' gradient. For each head; the forward pass is attention_forward_subgroup8.wgsl.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For adapters whose subgroups have exactly 8 lanes: each
// lane owns whole queries; slots, tiles and their products are in attention_slots_subgroup8.wgsl.
// Bindings: q, k, v, out, d_out (B, T, H, D) read; log_sum_exp (B, T, H) read; segment_start (B, T) read;
//   delta (B, T, H) write; dq (B, T, H, D) write.
// Grid: x = ceil(T * D / 1024) query tiles, y = H, z = B; one subgroup a tile; query n of lane l is 8 n + l of the tile.
// Numerics: f32, exponentials of base 2, keys ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32 }

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

const LOG2_E = 1.4426950408889634f;

fn load_q(at: u32) -> mat4x4f { return mat4x4f(q[at], q[at + 1u], q[at + 2u], q[at + 3u]); }
fn load_k(at: u32) -> mat4x4f { return mat4x4f(k[at], k[at + 1u], k[at + 2u], k[at + 3u]); }
fn load_v(at: u32) -> mat4x4f { return mat4x4f(v[at], v[at + 1u], v[at + 2u], v[at + 3u]); }
fn load_out(at: u32) -> mat4x4f { return mat4x4f(out[at], out[at + 1u], out[at + 2u], out[at + 3u]); }
fn load_d_out(at: u32) -> mat4x4f { return mat4x4f(d_out[at], d_out[at + 1u], d_out[at + 2u], d_out[at + 3u]); }

fn dot_half(x: mat4x4f, y: mat4x4f) -> f32 {
  return (dot(x[0], y[0]) + dot(x[1], y[1])) + (dot(x[2], y[2]) + dot(x[3], y[3]));
}

// Loads a slot of the queries and of d_out; adds the slot's part of d_out . out to the query's.
fn load_query(slot: u32, row: u32, query: ptr<function, Slots>, d_query: ptr<function, Slots>,
              deltas: ptr<function, vec4f>) {
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  let at = row + slot % SLICES * 8u;
  (*query).half[slot * 2u] = load_q(at) * scale;
  (*query).half[slot * 2u + 1u] = load_q(at + 4u) * scale;
  let d0 = load_d_out(at);
  let d1 = load_d_out(at + 4u);
  (*d_query).half[slot * 2u] = d0;
  (*d_query).half[slot * 2u + 1u] = d1;
  (*deltas)[slot / SLICES] += dot_half(d0, load_out(at)) + dot_half(d1, load_out(at + 4u));
}

fn load_key(slice: u32, row: u32, key: ptr<function, Slots>, value: ptr<function, Slots>) {
  if (slice >= SLICES) { return; }
  let at = row + slice * 8u;
  (*key).half[slice * 2u] = load_k(at);
  (*key).half[slice * 2u + 1u] = load_k(at + 4u);
  (*value).half[slice * 2u] = load_v(at);
  (*value).half[slice * 2u + 1u] = load_v(at + 4u);
}

// Turns the scores of the lane's query n into their gradients, without the factor 1 / sqrt(D).
fn gradients(n: u32, t: u32, start: u32, key: u32, log2_sum: f32, row_delta: f32, s: ptr<function, Scores>,
             dp: ptr<function, Scores>) {
  if (n * SLICES >= 4u) { return; }
  let keys_low = key + vec4u(0u, 1u, 2u, 3u);
  let keys_high = keys_low + 4u;
  let visible_low = (keys_low >= vec4u(start)) & (keys_low <= vec4u(t));
  let visible_high = (keys_high >= vec4u(start)) & (keys_high <= vec4u(t));
  let low = exp2((*s).low[n] - log2_sum) * ((*dp).low[n] - row_delta);
  let high = exp2((*s).high[n] - log2_sum) * ((*dp).high[n] - row_delta);
  (*s).low[n] = select(vec4f(0f), low, visible_low);
  (*s).high[n] = select(vec4f(0f), high, visible_high);
}

fn store_half(at: u32, x: mat4x4f) {
  dq[at] = x[0];
  dq[at + 1u] = x[1];
  dq[at + 2u] = x[2];
  dq[at + 3u] = x[3];
}

fn store_slot(slot: u32, row: u32, row_of_head: u32, row_delta: f32, sum: ptr<function, Slots>) {
  let scale = inverseSqrt(f32(HEAD_DIM));
  let at = row + slot % SLICES * 8u;
  store_half(at, (*sum).half[slot * 2u] * scale);
  store_half(at + 4u, (*sum).half[slot * 2u + 1u] * scale);
  if (slot % SLICES == 0u) { delta[row_of_head] = row_delta; }
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
  let rows = (row0 + t) * params.num_heads + group.y;
  let logs = LOG2_E *
    vec4f(log_sum_exp[rows.x], log_sum_exp[rows.y], log_sum_exp[rows.z], log_sum_exp[rows.w]);
  var query = Slots();
  var d_query = Slots();
  var deltas = vec4f();
  load_query(0u, at.x, &query, &d_query, &deltas);
  load_query(1u, at.y, &query, &d_query, &deltas);
  load_query(2u, at.z, &query, &d_query, &deltas);
  load_query(3u, at.w, &query, &d_query, &deltas);
  var sum = Slots();
  let last = min(first + QUERIES, length) - 1u;
  for (var first_key = segment_start[row0 + first] / 8u * 8u; first_key <= last; first_key += 8u) {
    let row = head0 + min(first_key + lane, length - 1u) * stride;
    var key = Slots();
    var value = Slots();
    load_key(0u, row, &key, &value);
    load_key(1u, row, &key, &value);
    load_key(2u, row, &key, &value);
    load_key(3u, row, &key, &value);
    var s = score(&query, &key);
    var dp = score(&d_query, &value);
    gradients(0u, t.x, starts.x, first_key, logs.x, deltas.x, &s, &dp);
    gradients(1u, t[SLICES % 4u], starts[SLICES % 4u], first_key, logs[SLICES % 4u], deltas.y, &s, &dp);
    gradients(2u, t[2u * SLICES % 4u], starts[2u * SLICES % 4u], first_key, logs[2u * SLICES % 4u], deltas.z, &s, &dp);
    gradients(3u, t[3u * SLICES % 4u], starts[3u * SLICES % 4u], first_key, logs[3u * SLICES % 4u], deltas.w, &s, &dp);
    weigh(&s, &key, &sum);
  }
  if (wanted.x < length) { store_slot(0u, at.x, rows.x, deltas.x, &sum); }
  if (wanted.y < length) { store_slot(1u, at.y, rows.y, deltas[1u / SLICES], &sum); }
  if (wanted.z < length) { store_slot(2u, at.z, rows.z, deltas[2u / SLICES], &sum); }
  if (wanted.w < length) { store_slot(3u, at.w, rows.w, deltas[3u / SLICES], &sum); }
}
