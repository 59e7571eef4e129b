// The shared part of the attention kernels for any adapter, except for attention_decode_tiled. A workgroup of
// 64 threads owns 4096 / D rows, queries or keys, and processes the other side in tiles of 4 OTHER_PARTS
// rows. A part is four rows or four dims. Thread (tx, ty) computes the scores of the own rows 8 ty .. 8 ty +
// 7 for the tile's parts tx (forward also tx + OTHER_PARTS / 2), and the dims of parts tx and tx + D / 8 of
// the own rows' sums.
// A kernel defines OTHER_PARTS, segment_start; own_rows(which, at) and other_rows(which, at): the vec4 at
// each of four indexes of the two matrices of pair `which`, one per column; and store(which, at, x), which
// stores to vec4 `at` of a result.
// Limits: D is 32, 64 or 128; 16 KiB of workgroup memory.
// #include products_tiled.wgsl
override HEAD_DIM: u32 = 32u;
override HEAD_PARTS: u32 = HEAD_DIM / 4u;
override THREADS_X: u32 = HEAD_DIM / 8u;
override OWN_ROWS: u32 = 4096u / HEAD_DIM;
override OWN_PARTS: u32 = 1024u / HEAD_DIM;
override OTHER_ROWS: u32 = 4u * OTHER_PARTS;
override OWN_BLOCKS: u32 = 4u * OWN_PARTS;
override OTHER_BLOCKS: u32 = 4u * OTHER_PARTS;
override TILE_PARTS: u32 = FIRST_ROW_PART + HEAD_DIM;

const THREADS = 64u;
// In tiles of rows, after the weights: 16 rows of the other side.
const FIRST_ROW_PART = 128u;
const LOG2_E = 1.4426950408889634f;

fn log2_scale() -> f32 { return LOG2_E * inverseSqrt(f32(HEAD_DIM)); }

// Rows of one head of a sequence: row t is at first + t stride, in vec4.
struct Head { first: u32, stride: u32, length: u32 }

// A value for each of a thread's own rows.
struct Rows { low: vec4f, high: vec4f }

fn head_of(group: vec3u, length: u32, num_heads: u32) -> Head {
  let stride = num_heads * HEAD_PARTS;
  return Head(group.z * length * stride + group.y * HEAD_PARTS, stride, length);
}

// Four consecutive rows; past the sequence's end the last row is repeated.
fn four_rows(head: Head, row: u32) -> vec4u {
  return min(vec4u(row) + vec4u(0u, 1u, 2u, 3u), vec4u(head.length - 1u));
}

fn starts_of(rows: vec4u) -> vec4u {
  return vec4u(segment_start[rows.x], segment_start[rows.y], segment_start[rows.z], segment_start[rows.w]);
}

// Stores a vec4 of each of four rows, from `row` on, except rows past the sequence's end.
fn store_rows(which: u32, at: u32, stride: u32, x: mat4x4f, row: u32) {
  if (row < params.sequence_length) { store(which, at, x[0]); }
  if (row + 1u < params.sequence_length) { store(which, at + stride, x[1]); }
  if (row + 2u < params.sequence_length) { store(which, at + 2u * stride, x[2]); }
  if (row + 3u < params.sequence_length) { store(which, at + 3u * stride, x[3]); }
}

// Offsets of the parts of the steps: the own rows', then the tile's.
fn own_place(group: u32, part: u32) -> u32 { return group * OWN_PARTS + swizzled(group, part); }

fn other_place(group: u32, part: u32) -> u32 {
  return 4u * OWN_PARTS + group * OTHER_PARTS + swizzled(group, part) % OTHER_PARTS;
}

// Block i of 16 dims of rows from `first` on: dims 4 (i % 4) .. (from part d on) of rows 4 (i / 4) ...
fn block_at(head: Head, first: u32, d: u32, i: u32) -> vec4u {
  return head.first + four_rows(head, first + i / 4u * 4u) * head.stride + d + i % 4u;
}

fn store_own(i: u32, block: mat4x4f) {
  if (i < OWN_BLOCKS) { store_steps(own_place(i % 4u, i / 4u), transpose(block)); }
}

fn store_other(i: u32, block: mat4x4f) {
  if (i < OTHER_BLOCKS) { store_steps(other_place(i % 4u, i / 4u), transpose(block)); }
}

// Loads 16 dims, from part d on, of the own rows and of the tile, as the steps of scores.
fn load_dims(which: u32, head: Head, own: u32, other: u32, d: u32, thread: u32) {
  let own0 = own_rows(which, block_at(head, own, d, min(thread, OWN_BLOCKS - 1u)));
  let other0 = other_rows(which, block_at(head, other, d, min(thread, OTHER_BLOCKS - 1u)));
  var own1 = mat4x4f();
  if (OWN_BLOCKS > THREADS) { own1 = own_rows(which, block_at(head, own, d, thread + THREADS)); }
  var other1 = mat4x4f();
  if (OTHER_BLOCKS > THREADS) { other1 = other_rows(which, block_at(head, other, d, thread + THREADS)); }
  workgroupBarrier();
  store_own(thread, own0);
  store_other(thread, other0);
  if (OWN_BLOCKS > THREADS) { store_own(thread + THREADS, own1); }
  if (OTHER_BLOCKS > THREADS) { store_other(thread + THREADS, other1); }
  workgroupBarrier();
}

// Loads 16 whole rows of the other side, as the steps of the own rows' sums.
fn load_rows(which: u32, head: Head, row: u32, thread: u32) {
  for (var i = thread; i < 4u * HEAD_PARTS; i += THREADS) {
    let at = head.first + four_rows(head, row + i / HEAD_PARTS * 4u) * head.stride + i % HEAD_PARTS;
    store_steps(FIRST_ROW_PART + i, other_rows(which, at));
  }
}

// Stores weights of four rows of the tile, as part `part` of the weights, for the own rows 8 ty ..
fn store_weights(part: u32, ty: u32, low: mat4x4f, high: mat4x4f) {
  let at = own_place(part, 2u * ty);
  store_steps(at, low);
  store_steps(at ^ 1u, high);
}

// Adds the products of 16 rows' stored weights, from part `part` on, and the loaded rows.
fn add_weighted(sums: ptr<function, Sums>, part: u32, tx: u32, ty: u32) {
  for (var i = 0u; i < times(4u); i++) {
    let x = own_place(part + i, 2u * ty);
    let y = FIRST_ROW_PART + i * HEAD_PARTS + tx;
    add_steps(sums, x, x ^ 1u, y, y + THREADS_X);
  }
}

// The sums, or the maxima, over the threads of each row.
fn over_threads(x: Rows, is_sum: bool, tx: u32, ty: u32) -> Rows {
  workgroupBarrier();
  let at = own_place(tx, 2u * ty);
  tile[0][at] = x.low;
  tile[0][at ^ 1u] = x.high;
  workgroupBarrier();
  let first = own_place(0u, 2u * ty);
  var all = Rows(tile[0][first], tile[0][first ^ 1u]);
  for (var i = 1u; i < times(THREADS_X); i++) {
    let source = own_place(i, 2u * ty);
    let other = Rows(tile[0][source], tile[0][source ^ 1u]);
    all.low = select(max(all.low, other.low), all.low + other.low, is_sum);
    all.high = select(max(all.high, other.high), all.high + other.high, is_sum);
  }
  return all;
}

// 4 x 8 sums: four rows of the tile by the own rows.
struct HalfSums { s0: mat4x4f, s1: mat4x4f }

fn add_half_step(sums: ptr<function, HalfSums>, s: u32, x: u32, y0: u32, y1: u32) {
  let u = tile[s][x];
  (*sums).s0 = outer((*sums).s0, u, tile[s][y0]);
  (*sums).s1 = outer((*sums).s1, u, tile[s][y1]);
}

// Like add_steps().
fn add_half_steps(sums: ptr<function, HalfSums>, x: u32, y0: u32, y1: u32) {
  if (UNROLLED) {
    add_half_step(sums, 0u, x, y0, y1);
    add_half_step(sums, 1u, x, y0, y1);
    add_half_step(sums, 2u, x, y0, y1);
    add_half_step(sums, 3u, x, y0, y1);
  } else {
    for (var s = 0u; s < times(4u); s++) { add_half_step(sums, s, x, y0, y1); }
  }
}
