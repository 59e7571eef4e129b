// C = op(A) op(B) with an epilogue such as a sum or an activation, where op transposes or not, on the matrix
// units of an adapter's subgroups: f16 operands, f32 sums. Source of the built-ins: Chromium's experimental
// subgroup matrices, which Dawn maps to VK_KHR_cooperative_matrix.
// A workgroup is 2 x 4 subgroups, each with 4 x 2 matrices of sums: a tile of 8 MATRIX rows and columns, 128
//   if matrices are 16 x 16 (NVIDIA, 32 lanes), 64 if they are 8 x 8 (lavapipe, 8 lanes). TILE_K = 4 MATRIX
//   steps of k at a time go through workgroup memory as words of 8 f16. A thread loads 4 words of each operand
//   and fetches the next ones while the current ones are multiplied. A row of the tile has one extra word, so
//   its length is odd and the 8 rows that a matrix load reads together are in different banks.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if
//   TRANSPOSE_B, read; both f16, or f32 if A_F32, B_F32, then rounded to f16 when fetched (NaN beyond f16's
//   range); d, c, e as in gemm_tiled. With SPLIT both are f32: each is multiplied by its scale and
//   represented as the sum of two f16, high and low. The three largest of their four products are added and
//   divided by the scales, so operands have 20 bits of precision instead of 11. In a batch, matrix z of each
//   starts z times its stride (in vec4) after the first. With several terms, C is the sum of the products of
//   `terms` matrices of a and of b; step k belongs to term k / params.k.
// Epilogues: see gemm_epilogue.wgsl.
// Grid: x = ceil(n / TILE), y = ceil(m / TILE), z = splits of the matrices of the batch: split s of matrix i
//   is z = i splits + s, has the steps s split_k .. of k and stores into matrix z of c; 8 LANES threads.
// Numerics: products of f16 are exact in f32; sums in f32, k ascending by matrices, in the hardware's order
//   within a matrix. Loads are clamped into the matrix; those beyond k are 0; values beyond m and n are not
//   stored. If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it;
//   those above are skipped.
// Limits: split_k % STEPS == 0; k % STEPS == 0 with several terms; n % 4 == 0; rows of A and B in memory are multiples
//   of 8 long; m == n if symmetric.
// No matrix is indexed by a variable, and steps are written out: with loops over arrays of matrices an H100
// has an eighth of the speed, with two stages of workgroup memory half (lib/tensor/RESULTS.md).
// #include gemm_epilogue.wgsl
struct Params { m: u32, n: u32, k: u32, epilogue: u32, stride_a: u32, stride_b: u32, stride_c: u32, splits: u32,
  split_k: u32, symmetric: u32, first_factors: u32, terms: u32, scale_a: f32, scale_b: f32 }

override TRANSPOSE_A: bool = false;
override TRANSPOSE_B: bool = false;
override A_F32: bool = false;
override B_F32: bool = false;
override SPLIT: bool = false;

@group(0) @binding(0) var<storage, read> a: array<vec4u>;
@group(0) @binding(1) var<storage, read> b: array<vec4u>;
@group(0) @binding(2) var<storage, read> d: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> e: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

const TILE = 8u * MATRIX;
const TILE4 = TILE / 4u;
const TILE_K = 4u * MATRIX;
// Steps of k at a time. With SPLIT the tile has the low parts after the high parts.
const STEPS = select(TILE_K, TILE_K / 2u, SPLIT);
const THREADS = 8u * LANES;
// Words of 8 elements in a matrix, in the steps of k, and in a side of the tile.
const MATRIX8 = MATRIX / 8u;
const TILE_K8 = TILE_K / 8u;
const TILE8 = TILE / 8u;
// Words of a row of each operand in memory and in the tile, and rows from one word of a thread to its next.
const WORDS_A = select(TILE_K8, TILE8, TRANSPOSE_A);
const WORDS_B = select(TILE8, TILE_K8, TRANSPOSE_B);
const ROW_A = WORDS_A + 1u;
const ROW_B = WORDS_B + 1u;
const NEXT_A = THREADS / WORDS_A;
const NEXT_B = THREADS / WORDS_B;
const FIRST_B = ROW_A * select(TILE, TILE_K, TRANSPOSE_A);
// Words from one matrix to the next along a side of C, and along k.
const SIDE_A = select(MATRIX * ROW_A, MATRIX8, TRANSPOSE_A);
const SIDE_B = select(MATRIX8, MATRIX * ROW_B, TRANSPOSE_B);
const STEP_A = select(MATRIX8, MATRIX * ROW_A, TRANSPOSE_A);
const STEP_B = select(MATRIX * ROW_B, MATRIX8, TRANSPOSE_B);
// For the stores: a row of matrices per subgroup, 2 x 4 blocks; 2 more vec4 per row against bank conflicts.
const SIDE4 = MATRIX / 2u;
const ROW_C = SIDE4 + 2u;

var<workgroup> tile: array<vec4u, max(FIRST_B + ROW_B * select(TILE_K, TILE, TRANSPOSE_B), 8u * MATRIX * ROW_C)>;

struct Words { w0: vec4u, w1: vec4u, w2: vec4u, w3: vec4u }
struct Row { c0: Sum, c1: Sum }
struct Sums { r0: Row, r1: Row, r2: Row, r3: Row }

// 8 elements as f16 or, with `is_low`, their rounding errors; all NaN if one is beyond f16's range, which is
// tested on the bits, because WGSL may assume that there is no NaN.
fn half_word(x: vec4f, y: vec4f, is_low: bool) -> vec4u {
  let word = vec4u(pack2x16float(x.xy), pack2x16float(x.zw), pack2x16float(y.xy), pack2x16float(y.zw));
  if (SPLIT && is_low) {
    let x_rest = x - vec4f(unpack2x16float(word.x), unpack2x16float(word.y));
    let y_rest = y - vec4f(unpack2x16float(word.z), unpack2x16float(word.w));
    return vec4u(pack2x16float(x_rest.xy), pack2x16float(x_rest.zw), pack2x16float(y_rest.xy), pack2x16float(y_rest.zw));
  }
  let sizes = max(abs(x), abs(y));
  let largest = max(max(sizes.x, sizes.y), max(sizes.z, sizes.w));
  return select(word, vec4u(0x7fff7fffu), bitcast<u32>(largest) > bitcast<u32>(65504f));
}

// 8 elements from the vec4 `at` on, as f16.
fn word_a(at: u32, is_low: bool) -> vec4u {
  if (!A_F32) { return a[at / 2u]; }
  let scale = select(1f, params.scale_a, SPLIT);
  return half_word(scale * bitcast<vec4f>(a[at]), scale * bitcast<vec4f>(a[at + 1u]), is_low);
}

fn word_b(at: u32, is_low: bool) -> vec4u {
  if (!B_F32) { return b[at / 2u]; }
  let scale = select(1f, params.scale_b, SPLIT);
  return half_word(scale * bitcast<vec4f>(b[at]), scale * bitcast<vec4f>(b[at + 1u]), is_low);
}

// Offsets of a thread's four words in A or B, in vec4: at + 2 min(step's word, last) if k runs along rows,
// else row `at` + k times the row's length, + word. Rows of A and columns of B past the matrix repeat its
// edge; they affect only sums that are not stored.
struct Source { at: vec4u, word: u32, is_low: vec4<bool> }

fn source(is_along_k: bool, word: u32, rows: vec4u, first: u32, count: u32) -> Source {
  if (is_along_k) {
    let at = min(first + rows, vec4u(count - 1u)) * (params.k / 4u);
    return Source(at, word % (STEPS / 8u), vec4<bool>(word >= STEPS / 8u));
  }
  return Source(rows % STEPS, 2u * min(first / 8u + word, count / 8u - 1u), rows >= vec4u(STEPS));
}

// The vec4 of the four words at step k of a term; `count` is the matrix's other side.
fn places(s: Source, is_along_k: bool, k: u32, count: u32) -> vec4u {
  if (is_along_k) { return s.at + 2u * min(k / 8u + s.word, params.k / 8u - 1u); }
  return min(k + s.at, vec4u(params.k - 1u)) * (count / 4u) + s.word;
}

// Which of the four words are among the next `rest` steps.
fn kept(s: Source, is_along_k: bool, rest: u32) -> vec4<bool> {
  if (is_along_k) { return vec4<bool>(8u * s.word < rest); }
  return s.at < vec4u(rest);
}

fn chosen(w: Words, keep: vec4<bool>) -> Words {
  let none = vec4u(0u);
  return Words(select(none, w.w0, keep.x), select(none, w.w1, keep.y), select(none, w.w2, keep.z),
    select(none, w.w3, keep.w));
}

fn words_a(s: Source, first: u32, k: u32, rest: u32) -> Words {
  let at = first + places(s, !TRANSPOSE_A, k, params.m);
  return chosen(Words(word_a(at.x, s.is_low.x), word_a(at.y, s.is_low.y), word_a(at.z, s.is_low.z),
    word_a(at.w, s.is_low.w)), kept(s, !TRANSPOSE_A, rest));
}

fn words_b(s: Source, first: u32, k: u32, rest: u32) -> Words {
  let at = first + places(s, TRANSPOSE_B, k, params.n);
  return chosen(Words(word_b(at.x, s.is_low.x), word_b(at.y, s.is_low.y), word_b(at.z, s.is_low.z),
    word_b(at.w, s.is_low.w)), kept(s, TRANSPOSE_B, rest));
}

fn put(at: u32, next: u32, w: Words) {
  tile[at] = w.w0;
  tile[at + next] = w.w1;
  tile[at + 2u * next] = w.w2;
  tile[at + 3u * next] = w.w3;
}

fn left(at: u32) -> Left {
  if (TRANSPOSE_A) { return subgroupMatrixLoad<Left, col_major>(&tile, at, ROW_A); }
  return subgroupMatrixLoad<Left, row_major>(&tile, at, ROW_A);
}

fn right(at: u32) -> Right {
  if (TRANSPOSE_B) { return subgroupMatrixLoad<Right, col_major>(&tile, at, ROW_B); }
  return subgroupMatrixLoad<Right, row_major>(&tile, at, ROW_B);
}

fn add_row(row: ptr<function, Row>, x: Left, y0: Right, y1: Right) {
  (*row).c0 = subgroupMatrixMultiplyAccumulate(x, y0, (*row).c0);
  (*row).c1 = subgroupMatrixMultiplyAccumulate(x, y1, (*row).c1);
}

// Adds MATRIX steps of k, whose left matrices start at x and whose right matrices start at y.
fn add_step(sums: ptr<function, Sums>, x: u32, y: u32) {
  let y0 = right(y);
  let y1 = right(y + SIDE_B);
  add_row(&(*sums).r0, left(x), y0, y1);
  add_row(&(*sums).r1, left(x + SIDE_A), y0, y1);
  add_row(&(*sums).r2, left(x + 2u * SIDE_A), y0, y1);
  add_row(&(*sums).r3, left(x + 3u * SIDE_A), y0, y1);
}

fn put_row(at: u32, row: Row) {
  subgroupMatrixStore<row_major>(&tile, at, row.c0, ROW_C);
  subgroupMatrixStore<row_major>(&tile, at + MATRIX / 4u, row.c1, ROW_C);
}

// The index in the tile of a row of sums of both halves, 2 MATRIX sums, and its vec4.
fn place_of(row: u32, column4: u32) -> u32 {
  let owner = row / MATRIX * 4u + column4 / SIDE4;
  return (owner * MATRIX + row % MATRIX) * ROW_C + column4 % SIDE4;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32,
  @builtin(subgroup_id) subgroup: u32) {
  if (params.symmetric == 1u && group.x > group.y) { return; }
  let next = vec4u(0u, 1u, 2u, 3u);
  let source_a = source(!TRANSPOSE_A, thread % WORDS_A, thread / WORDS_A + NEXT_A * next, group.y * TILE, params.m);
  let source_b = source(TRANSPOSE_B, thread % WORDS_B, thread / WORDS_B + NEXT_B * next, group.x * TILE, params.n);
  let to_a = thread / WORDS_A * ROW_A + thread % WORDS_A;
  let to_b = FIRST_B + thread / WORDS_B * ROW_B + thread % WORDS_B;
  let x = subgroup / 4u * 4u * SIDE_A;
  let y = FIRST_B + subgroup % 4u * 2u * SIDE_B;
  var first_a = group.z / params.splits * params.stride_a;
  var first_b = group.z / params.splits * params.stride_b;
  let k_begin = group.z % params.splits * params.split_k;
  let k_end = min(k_begin + params.split_k, params.k * params.terms);
  // The steps of the current term that are fetched next.
  var term_k = k_begin;
  var next_a = words_a(source_a, first_a, term_k, k_end - k_begin);
  var next_b = words_b(source_b, first_b, term_k, k_end - k_begin);
  var sums = Sums();
  for (var k = k_begin; k < k_end; k += STEPS) {
    workgroupBarrier();
    put(to_a, NEXT_A * ROW_A, next_a);
    put(to_b, NEXT_B * ROW_B, next_b);
    workgroupBarrier();
    let rest = max(k_end - k, STEPS) - STEPS;
    term_k += STEPS;
    if (term_k >= params.k && rest > 0u) {
      term_k = 0u;
      first_a += params.stride_a;
      first_b += params.stride_b;
    }
    next_a = words_a(source_a, first_a, term_k, rest);
    next_b = words_b(source_b, first_b, term_k, rest);
    add_step(&sums, x, y);
    add_step(&sums, x + STEP_A, y + STEP_B);
    if (SPLIT) {
      add_step(&sums, x, y + 2u * STEP_B);
      add_step(&sums, x + STEP_A, y + 3u * STEP_B);
      add_step(&sums, x + 2u * STEP_A, y);
      add_step(&sums, x + 3u * STEP_A, y + STEP_B);
    } else {
      add_step(&sums, x + 2u * STEP_A, y + 2u * STEP_B);
      add_step(&sums, x + 3u * STEP_A, y + 3u * STEP_B);
    }
  }
  // Rows of matrices go through the tile, one per subgroup at a time, and all threads read and store vec4
  // there.
  let first = group.z * params.stride_c;
  let row0 = group.y * TILE;
  let scale = select(1f, 1f / (params.scale_a * params.scale_b), SPLIT);
  let strips = min((params.m - row0 + MATRIX - 1u) / MATRIX, 4u);
  for (var strip = 0u; strip < strips; strip++) {
    let at = subgroup * MATRIX * ROW_C;
    workgroupBarrier();
    if (strip == 0u) { put_row(at, sums.r0); }
    if (strip == 1u) { put_row(at, sums.r1); }
    if (strip == 2u) { put_row(at, sums.r2); }
    if (strip == 3u) { put_row(at, sums.r3); }
    workgroupBarrier();
    for (var side = 0u; side < num_sides(group); side++) {
      for (var i = thread; i < 2u * MATRIX * TILE4; i += THREADS) {
        // For side 1: four rows of a column, which are four columns of a row on the other side of the
        // diagonal.
        let column = i % select(TILE4, TILE, side == 1u);
        let row = i / select(TILE4, TILE, side == 1u) * select(1u, 4u, side == 1u);
        let to = vec2u(row0 + (row / MATRIX * 4u + strip) * MATRIX + row % MATRIX, group.x * TILE4 + column);
        if (side == 0u) {
          store(first, to.x, to.y, scale * bitcast<vec4f>(tile[place_of(row, column)]));
        } else {
          let place = place_of(row, column / 4u);
          let part = column % 4u;
          store(first, group.x * TILE + column, to.x / 4u, scale * bitcast<vec4f>(vec4u(tile[place][part],
            tile[place + ROW_C][part], tile[place + 2u * ROW_C][part], tile[place + 3u * ROW_C][part])));
        }
      }
    }
  }
}
