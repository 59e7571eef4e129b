// C = op(A) op(B) with an epilogue such as a sum or an activation, where op transposes or not; for any
// adapter. One tile of C per workgroup: 16 steps of k of A and B go through workgroup memory at a time; each
// thread owns 8 x 8 elements of C. Source: see products_tiled.wgsl.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if
//   TRANSPOSE_B, read; d (m, n) read by ADD, SLOPE, POLYNOMIAL, or (any, 4) by UPDATE; c (m, n) write, also
//   read by ACCUMULATE; e (m, n) write by ACTIVATE_KEEP. In a batch, matrix z of each starts z times its
//   stride (in vec4) after the first. With several terms, C is the sum of the products of `terms` matrices of
//   a and of b; step k belongs to term k / params.k.
// Epilogues: see gemm_epilogue.wgsl.
// Grid: x = ceil(n / TILE) column tiles, y = ceil(m / TILE) row tiles, z = splits of the matrices of the
//   batch: split s of matrix i is z = i splits + s, has the steps s split_k .. of k and stores into matrix z
//   of c; (TILE / 8)^2 threads; thread (tx, ty) owns the rows 8 ty .. 8 ty + 7 and the columns 4 tx .. 4 tx +
//   3 and TILE / 2 + 4 tx ..: neighbours read neighbouring words.
// Numerics: f32, fma, k ascending. Loads are clamped into the matrix; those beyond k are multiplied by 0;
//   values beyond m and n are not stored. The next 16 steps of k are fetched while the current ones are
//   multiplied. If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it;
//   those above are skipped.
// Limits: split_k % 16 == 0; k % 16 == 0 with several terms; n % 4 == 0; k % 4 == 0 unless TRANSPOSE_A; m % 4 == 0 if
//   TRANSPOSE_A; not both transposed; TILE is 64 or 128; m == n if symmetric.
// #include gemm_epilogue.wgsl
// #include products_tiled.wgsl
struct Params { m: u32, n: u32, k: u32, epilogue: u32, stride_a: u32, stride_b: u32, stride_c: u32, splits: u32,
  split_k: u32, symmetric: u32, first_factors: u32, terms: u32, one: u32 }

override TRANSPOSE_A: bool = false;
override TRANSPOSE_B: bool = false;
override TILE: u32 = 64;

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read> d: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> e: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

const TILE_K = 16u;
override TILE4: u32 = TILE / 4u;
override THREADS_X: u32 = TILE / 8u;
override THREADS: u32 = THREADS_X * THREADS_X;
// Four groups of steps of TILE rows of op(A), then of TILE columns of op(B).
override TILE_PARTS: u32 = 8u * TILE4;

// Offsets of four rows of a matrix, from row `first` on, at part `at` of each; the last row is repeated.
fn rows4(first: u32, num_rows: u32, row_length4: u32, at: u32) -> vec4u {
  return at + min(vec4u(first) + vec4u(0u, 1u, 2u, 3u), vec4u(num_rows - 1u)) * row_length4;
}

// Column i: step k + i, at the rows row .. row + 3 of op(A), which starts at a[first].
fn load_a(first: u32, row: u32, k: u32) -> mat4x4f {
  if (TRANSPOSE_A) {
    let m4 = params.m / 4u;
    let at = rows4(k, params.k, m4, first + min(row / 4u, m4 - 1u));
    let keep = vec4f(vec4u(k) + vec4u(0u, 1u, 2u, 3u) < vec4u(params.k));
    return mat4x4f(a[at.x] * keep.x, a[at.y] * keep.y, a[at.z] * keep.z, a[at.w] * keep.w);
  }
  let k4 = params.k / 4u;
  let at = rows4(row, params.m, k4, first + min(k / 4u, k4 - 1u));
  return transpose(mat4x4f(a[at.x], a[at.y], a[at.z], a[at.w]) * f32(k < params.k));
}

// Column i: step k + i, at the columns column .. column + 3 of op(B), which starts at b[first].
fn load_b(first: u32, column: u32, k: u32) -> mat4x4f {
  if (TRANSPOSE_B) {
    let k4 = params.k / 4u;
    let at = rows4(column, params.n, k4, first + min(k / 4u, k4 - 1u));
    return transpose(mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]));
  }
  let n4 = params.n / 4u;
  let at = rows4(k, params.k, n4, first + min(column / 4u, n4 - 1u));
  return mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]);
}

// The block of a tile that a thread loads, (rows or columns, steps) / 4: neighbours read neighbouring memory.
fn block_of(thread: u32, is_along_k: bool) -> vec2u {
  return select(vec2u(thread % TILE4, thread / TILE4), vec2u(thread / 4u, thread % 4u), is_along_k);
}

// Adds four steps of k.
fn add_group(sums: ptr<function, Sums>, i: u32, tx: u32, ty: u32) {
  let x = i * TILE4 + swizzled(i, ty * 2u);
  let y = (4u + i) * TILE4 + swizzled(i, tx);
  add_steps(sums, x, x ^ 1u, y, y + THREADS_X);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  if (params.symmetric == 1u && group.x > group.y) { return; }
  let tx = thread % THREADS_X;
  let ty = thread / THREADS_X;
  // The TILE x 16 elements of each matrix are TILE4 x 4 blocks, of which each thread loads at most one.
  let carries = thread < TILE4 * 4u;
  let carrier = min(thread, TILE4 * 4u - 1u);
  let block_a = block_of(carrier, !TRANSPOSE_A);
  let block_b = block_of(carrier, TRANSPOSE_B);
  let to_a = block_a.y * TILE4 + swizzled(block_a.y, block_a.x);
  let to_b = (4u + block_b.y) * TILE4 + swizzled(block_b.y, block_b.x);
  let row = group.y * TILE + block_a.x * 4u;
  let column = group.x * TILE + block_b.x * 4u;
  var first_a = group.z / params.splits * params.stride_a;
  var first_b = group.z / params.splits * params.stride_b;
  let k_begin = group.z % params.splits * params.split_k;
  let k_end = min(k_begin + params.split_k, params.k * params.terms);
  // The steps of the current term that are fetched next.
  var term_k = k_begin;
  var next_a = load_a(first_a, row, term_k + block_a.y * 4u);
  var next_b = load_b(first_b, column, term_k + block_b.y * 4u);
  var sums = Sums();
  for (var k = k_begin; k < k_end; k += TILE_K) {
    workgroupBarrier();
    if (carries) {
      store_steps(to_a, next_a);
      store_steps(to_b, next_b);
    }
    workgroupBarrier();
    term_k += TILE_K;
    if (term_k >= params.k && k + TILE_K < k_end) {
      term_k = 0u;
      first_a += params.stride_a;
      first_b += params.stride_b;
    }
    next_a = load_a(first_a, row, term_k + block_a.y * 4u);
    next_b = load_b(first_b, column, term_k + block_b.y * 4u);
    if (UNROLLED) {
      add_group(&sums, 0u, tx, ty);
      add_group(&sums, 1u, tx, ty);
      add_group(&sums, 2u, tx, ty);
      add_group(&sums, 3u, tx, ty);
    } else {
      for (var i = 0u; i < TILE_K / 4u; i++) { add_group(&sums, i, tx, ty); }
    }
  }
  for (var side = 0u; side < num_sides(group); side++) {
    for (var i = 0u; i < times(4u); i++) {
      let block_row = group.y * TILE + ty * 8u + i / 2u * 4u;
      let column4 = group.x * TILE4 + tx + i % 2u * THREADS_X;
      store4(group.z * params.stride_c, side, block_row, column4, block_of_sums(sums, i));
    }
  }
}
