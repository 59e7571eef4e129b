// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to
// the keys of its prompt up to a row-specific end (the prompt's keys are stored once) and to the keys of its
// suffix so far.
// Source: as attention_forward_tiled.wgsl; the shared prefix as in Juravsky et al., Hydragen: High-Throughput LLM
// Inference with Shared Prefixes, 2024. For any adapter.
// Bindings: q (N, H, D) read; k, v (P, H, D) read; suffix_k, suffix_v (M, H, D) read: keys that rows
//   appended; row_keys (1 + S, N) read: the exclusive end of the prompt's keys for each row, then the index
//   of the row's key at each step, the newest last; tiles (x) read: rows of one prompt as (first key, end of
//   the keys of all its rows, first row, end of the rows), with exclusive ends; out (N, H, D) write.
// Grid: x = tiles, y = H; 64 threads per tile; a tile without rows is skipped. A thread owns a slice of 32
//   dims of one row: thread i slice i % SLICES of row i / SLICES, where D = 32 SLICES. The prompt's keys and
//   values are processed in tiles of 512 / D rows in workgroup memory, where the parts of dot products are
//   also combined; the keys of a row's suffix one by one.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; a tile has at most 2048 / D rows and each row sees at least one of its keys; S >= num_steps.
struct Params { num_rows: u32, num_heads: u32, num_steps: u32, tile_rows: u32 }

override HEAD_DIM: u32 = 32u;
override SLICES: u32 = HEAD_DIM / 32u;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> suffix_k: array<vec4f>;
@group(0) @binding(4) var<storage, read> suffix_v: array<vec4f>;
@group(0) @binding(5) var<storage, read> row_keys: array<u32>;
@group(0) @binding(6) var<storage, read> tiles: array<vec4u>;
@group(0) @binding(7) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(8) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;
const THREADS = 64u;
const TILE_PARTS = 128u;
// Below every score, and finite, so that the difference of two is not NaN.
const MASKED = -1e30f;

// 32 dims of a row. It is never indexed by a variable; see Sums in products_tiled.wgsl.
struct Slice { low: mat4x4f, high: mat4x4f }

// Dims 4 d to 4 d + 3 of a tile's row r at r D / 4 + d, the keys' first.
var<workgroup> tile: array<vec4f, 256>;
// For row r of the tile and thread i, at 64 r + i: the dot product of its slice with the key's slice.
var<workgroup> dots: array<f32, 1024>;

fn dot_part(x: mat4x4f, y: mat4x4f) -> f32 {
  return (dot(x[0], y[0]) + dot(x[1], y[1])) + (dot(x[2], y[2]) + dot(x[3], y[3]));
}

fn dot_slice(x: Slice, y: Slice) -> f32 { return dot_part(x.low, y.low) + dot_part(x.high, y.high); }

fn tile_slice(at: u32) -> Slice {
  return Slice(mat4x4f(tile[at], tile[at + 1u], tile[at + 2u], tile[at + 3u]),
    mat4x4f(tile[at + 4u], tile[at + 5u], tile[at + 6u], tile[at + 7u]));
}

// x shrink + weight y.
fn add_slice(x: Slice, shrink: f32, weight: f32, y: Slice) -> Slice {
  return Slice(x.low * shrink + y.low * weight, x.high * shrink + y.high * weight);
}

// The dot product of whole rows: the thread's row and the tile's row `row`.
fn whole_dot(row: u32, thread: u32) -> f32 {
  let at = row * THREADS + thread / SLICES * SLICES;
  var sum = dots[at];
  if (SLICES >= 2u) { sum += dots[at + 1u]; }
  if (SLICES >= 4u) { sum += dots[at + 2u] + dots[at + 3u]; }
  return sum;
}

fn load_tile(first_key: u32, end_key: u32, head0: u32, thread: u32) {
  for (var i = thread; i < TILE_PARTS; i += THREADS) {
    let key = min(first_key + i / (HEAD_DIM / 4u), end_key - 1u);
    let at = head0 + key * params.num_heads * (HEAD_DIM / 4u) + i % (HEAD_DIM / 4u);
    tile[i] = k[at];
    tile[TILE_PARTS + i] = v[at];
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let rows = tiles[group.x];
  if (rows.z >= rows.w) { return; }
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let head0 = group.y * (HEAD_DIM / 4u);
  let slice = thread % SLICES * 8u;
  let wanted = rows.z + thread / SLICES;
  // Past the tile's end the last row is repeated, and not stored.
  let row = min(wanted, rows.w - 1u);
  let end_key = row_keys[row];
  let at = head0 + row * stride + slice;
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  let query = Slice(mat4x4f(q[at], q[at + 1u], q[at + 2u], q[at + 3u]),
    mat4x4f(q[at + 4u], q[at + 5u], q[at + 6u], q[at + 7u]));
  var largest = MASKED;
  var sum = 0f;
  var weighted = Slice();
  for (var key = rows.x; key < rows.y; key += params.tile_rows) {
    workgroupBarrier();
    load_tile(key, rows.y, head0, thread);
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      dots[j * THREADS + thread] = scale * dot_slice(query, tile_slice(j * (HEAD_DIM / 4u) + slice));
    }
    workgroupBarrier();
    var new_largest = largest;
    for (var j = 0u; j < params.tile_rows; j++) {
      new_largest = max(new_largest, select(MASKED, whole_dot(j, thread), key + j < end_key));
    }
    let shrink = exp2(largest - new_largest);
    largest = new_largest;
    sum *= shrink;
    weighted = Slice(weighted.low * shrink, weighted.high * shrink);
    for (var j = 0u; j < params.tile_rows; j++) {
      let weight = select(0f, exp2(whole_dot(j, thread) - largest), key + j < end_key);
      sum += weight;
      weighted = add_slice(weighted, 1f, weight, tile_slice(TILE_PARTS + j * (HEAD_DIM / 4u) + slice));
    }
  }
  for (var step = 0u; step < params.num_steps; step++) {
    let suffix = head0 + row_keys[(1u + step) * params.num_rows + row] * stride + slice;
    let key = Slice(mat4x4f(suffix_k[suffix], suffix_k[suffix + 1u], suffix_k[suffix + 2u], suffix_k[suffix + 3u]),
    mat4x4f(suffix_k[suffix + 4u], suffix_k[suffix + 5u], suffix_k[suffix + 6u], suffix_k[suffix + 7u]));
    workgroupBarrier();
    dots[thread] = scale * dot_slice(query, key);
    workgroupBarrier();
    let score = whole_dot(0u, thread);
    let new_largest = max(largest, score);
    let shrink = exp2(largest - new_largest);
    let weight = exp2(score - new_largest);
    largest = new_largest;
    sum = fma(sum, shrink, weight);
    let value = Slice(mat4x4f(suffix_v[suffix], suffix_v[suffix + 1u], suffix_v[suffix + 2u], suffix_v[suffix + 3u]),
    mat4x4f(suffix_v[suffix + 4u], suffix_v[suffix + 5u], suffix_v[suffix + 6u], suffix_v[suffix + 7u]));
    weighted = add_slice(weighted, shrink, weight, value);
  }
  if (wanted >= rows.w) { return; }
  let low = weighted.low * (1f / sum);
  let high = weighted.high * (1f / sum);
  out[at] = low[0];
  out[at + 1u] = low[1];
  out[at + 2u] = low[2];
  out[at + 3u] = low[3];
  out[at + 4u] = high[0];
  out[at + 5u] = high[1];
  out[at + 6u] = high[2];
  out[at + 7u] = high[3];
}
