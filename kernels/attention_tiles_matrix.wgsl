// The shared part of the attention kernels for matrix units (see matrix_types.wgsl). A workgroup of SUBGROUPS
// subgroups owns OWN rows, queries or keys, MATRIX of them per subgroup, and processes the other side in
// tiles of OTHER rows of two tensors. WGSL gives no access to the elements of matrices, so scores go through
// a strip of workgroup memory, with MATRIX rows per subgroup and four matrices of columns. A part is a lane's
// share of a row of two matrices: two words of 8 elements, word `row_lane` of each matrix.
// A kernel defines Params with sequence_length and num_heads; own_words(which, at) and other_words(which,
// at), the words of 8 f16 at each of four indexes of one of its two tensors; and store(which, at, x), which
// stores to vec4 `at` of a result.
// No matrix is indexed by a variable, and steps are written out: with loops over arrays of matrices an H100
// has an eighth of the speed.
// Limits: HEAD_DIM is 4 MATRIX or 8 MATRIX; 37 KiB of workgroup memory if matrices are 16 x 16.
override HEAD_DIM: u32 = 64u;
override SUBGROUPS: u32 = 4u;

const HEAD_MATRICES = HEAD_DIM / MATRIX;
const TILE_MATRICES = 4u * SUBGROUPS / HEAD_MATRICES;
const OWN = SUBGROUPS * MATRIX;
const OTHER = TILE_MATRICES * MATRIX;
const THREADS = SUBGROUPS * LANES;
// Words of 8 elements and vec4 of a row of a matrix and of a head.
const MATRIX8 = MATRIX / 8u;
const MATRIX4 = MATRIX / 4u;
const HEAD8 = HEAD_DIM / 8u;
const HEAD4 = HEAD_DIM / 4u;
// Words from one row of a tile to the next, an odd number, so that the 8 rows that a matrix load reads
// together are in different banks; and vec4 from one row of a strip to the next, so that four rows are.
const ROW = HEAD8 + 1u;
const STRIP_ROW = MATRIX + 2u;
// Offsets of the second tensor's tile and of the strips.
const SECOND = OTHER * ROW;
const STRIPS = 2u * SECOND;
// Distance between matrices of a tile's rows, and between pairs of matrices of a strip.
const NEXT_MATRIX = MATRIX * ROW;
const NEXT_PAIR = 2u * MATRIX4;
// Rows from one word of a thread to its next, and lanes of a row of a strip.
const NEXT_ROW = THREADS / HEAD8;
const ROW_LANES = LANES / MATRIX;
const LOG2_E = 1.4426950408889634f;

var<workgroup> tile: array<vec4u, STRIPS + OWN * STRIP_ROW>;

struct Words { w0: vec4u, w1: vec4u, w2: vec4u, w3: vec4u }
struct Lefts { x0: Left, x1: Left, x2: Left, x3: Left, x4: Left, x5: Left, x6: Left, x7: Left }
struct Row { c0: Sum, c1: Sum, c2: Sum, c3: Sum }
struct Part { x0: vec4f, x1: vec4f, x2: vec4f, x3: vec4f }

// A lane's own row and its words there. It reads the vec4 `even` of a word first, then `odd`, so that the lanes of a row read
// different banks.
struct Lane { row: u32, row_lane: u32, even: u32, odd: u32, part_at: u32 }

fn lane_of(thread: u32) -> Lane {
  let row = thread / ROW_LANES;
  let row_lane = thread % ROW_LANES;
  return Lane(row, row_lane, row_lane % 2u, 1u - row_lane % 2u, STRIPS + row * STRIP_ROW + 2u * row_lane);
}

// Offsets of a thread's words of the rows from `row` on; past the sequence's end those of the last row.
fn places(head: u32, row: u32, thread: u32) -> vec4u {
  let rows = row + thread / HEAD8 + vec4u(0u, NEXT_ROW, 2u * NEXT_ROW, 3u * NEXT_ROW);
  return head + min(rows, vec4u(params.sequence_length - 1u)) * (params.num_heads * HEAD8) + thread % HEAD8;
}

fn put(tile_at: u32, thread: u32, w: Words) {
  let at = tile_at + thread / HEAD8 * ROW + thread % HEAD8;
  tile[at] = w.w0;
  tile[at + NEXT_ROW * ROW] = w.w1;
  tile[at + 2u * NEXT_ROW * ROW] = w.w2;
  tile[at + 3u * NEXT_ROW * ROW] = w.w3;
}

fn multiply(x: Left, y: Right, sum: Sum) -> Sum { return subgroupMatrixMultiplyAccumulate(x, y, sum); }

fn left(at: u32) -> Left { return subgroupMatrixLoad<Left, row_major>(&tile, at, ROW); }

// The matrix whose columns are rows of a tile, and the matrix whose rows are.
fn right_columns(at: u32) -> Right { return subgroupMatrixLoad<Right, col_major>(&tile, at, ROW); }

fn right_rows(at: u32) -> Right { return subgroupMatrixLoad<Right, row_major>(&tile, at, ROW); }

fn put_sum(at: u32, sum: Sum) { subgroupMatrixStore<row_major>(&tile, at, sum, STRIP_ROW); }

fn put_row(strip: u32, row: Row) {
  put_sum(strip, row.c0);
  put_sum(strip + MATRIX4, row.c1);
  put_sum(strip + 2u * MATRIX4, row.c2);
  put_sum(strip + 3u * MATRIX4, row.c3);
}

// The matrices of a subgroup's own rows of tensor `which`.
fn own_lefts(which: u32, head: u32, first: u32, thread: u32, subgroup: u32) -> Lefts {
  workgroupBarrier();
  put(0u, thread, own_words(which, places(head, first, thread)));
  if (HEAD_MATRICES == 8u) { put(SECOND, thread, own_words(which, places(head, first + OTHER, thread))); }
  workgroupBarrier();
  let at = subgroup * MATRIX * ROW;
  return Lefts(left(at), left(at + MATRIX8), left(at + 2u * MATRIX8), left(at + 3u * MATRIX8), high_left(at, 4u),
    high_left(at, 5u), high_left(at, 6u), high_left(at, 7u));
}

fn high_left(at: u32, i: u32) -> Left {
  if (HEAD_MATRICES == 8u) { return left(at + i * MATRIX8); }
  return Left();
}

fn row_step(row: ptr<function, Row>, x: Left, y0: Right, y1: Right, y2: Right, y3: Right) {
  (*row).c0 = multiply(x, y0, (*row).c0);
  (*row).c1 = multiply(x, y1, (*row).c1);
  (*row).c2 = multiply(x, y2, (*row).c2);
  (*row).c3 = multiply(x, y3, (*row).c3);
}

// Adds the product of the weights x and the MATRIX rows of a tile from word `at` on: the sums of the head's first four
// matrices of dims, and of its last four.
fn add_rows(low: ptr<function, Row>, high: ptr<function, Row>, x: Left, at: u32) {
  row_step(low, x, right_rows(at), right_rows(at + MATRIX8), right_rows(at + 2u * MATRIX8), right_rows(at + 3u * MATRIX8));
  if (HEAD_MATRICES == 8u) {
    row_step(high, x, right_rows(at + 4u * MATRIX8), right_rows(at + 5u * MATRIX8), right_rows(at + 6u * MATRIX8),
      right_rows(at + 7u * MATRIX8));
  }
}

fn strip_vec4(at: u32) -> vec4f { return bitcast<vec4f>(tile[at]); }

fn take_part(lane: Lane, pair: u32) -> Part {
  let at = lane.part_at + pair * NEXT_PAIR;
  return Part(strip_vec4(at + lane.even), strip_vec4(at + lane.odd), strip_vec4(at + MATRIX4 + lane.even),
    strip_vec4(at + MATRIX4 + lane.odd));
}

// A part in columns whose position is from `begin` to `last`, else x; the pair's first column has `position`.
fn seen_part(p: Part, lane: Lane, position: u32, begin: u32, last: u32, x: f32) -> Part {
  let even = position + 8u * lane.row_lane + 4u * lane.even;
  let odd = position + 8u * lane.row_lane + 4u * lane.odd;
  return Part(seen(p.x0, even, begin, last, x), seen(p.x1, odd, begin, last, x),
    seen(p.x2, even + MATRIX, begin, last, x), seen(p.x3, odd + MATRIX, begin, last, x));
}

fn seen(values: vec4f, position: u32, begin: u32, last: u32, x: f32) -> vec4f {
  let positions = position + vec4u(0u, 1u, 2u, 3u);
  return select(vec4f(x), values, (positions >= vec4u(begin)) & (positions <= vec4u(last)));
}

fn over_row_max(x: f32) -> f32 {
  if (ROW_LANES == 2u) { return max(x, subgroupShuffleXor(x, 1u)); }
  return x;
}

fn over_row_sum(x: f32) -> f32 {
  if (ROW_LANES == 2u) { return x + subgroupShuffleXor(x, 1u); }
  return x;
}

// A word of a part, from vec4 in the order in which the lane read them.
fn halves(x: vec4f, y: vec4f, lane: Lane) -> vec4u {
  let low = vec2u(pack2x16float(x.xy), pack2x16float(x.zw));
  let high = vec2u(pack2x16float(y.xy), pack2x16float(y.zw));
  return select(vec4u(low, high), vec4u(high, low), lane.even == 1u);
}

// Stores a lane's row of sums of four matrices of dims times a factor, from vec4 `at` of result `which` on.
fn store_row(which: u32, at: u32, row: Row, strip: u32, lane: Lane, factor: f32, is_stored: bool) {
  workgroupBarrier();
  put_row(strip, row);
  workgroupBarrier();
  if (is_stored) {
    store_part(which, at, lane, 0u, factor);
    store_part(which, at + NEXT_PAIR, lane, 1u, factor);
  }
}

fn store_part(which: u32, at: u32, lane: Lane, pair: u32, factor: f32) {
  let p = take_part(lane, pair);
  store(which, at + lane.even, p.x0 * factor);
  store(which, at + lane.odd, p.x1 * factor);
  store(which, at + MATRIX4 + lane.even, p.x2 * factor);
  store(which, at + MATRIX4 + lane.odd, p.x3 * factor);
}
