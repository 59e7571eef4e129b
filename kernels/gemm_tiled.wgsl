// C = op(A) op(B) with an epilogue such as a sum or an activation, where op transposes or not; for any adapter.
// One tile of C per workgroup: 16 steps of k of A and B go through workgroup memory, each thread owns 8 x 8 elements of
// C.
// Source: the register-blocked SGEMM of Volkov and Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, SC 2008.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if TRANSPOSE_B, read;
//   d (m, n) read, used by ADD, SLOPE, POLYNOMIAL, and of UPDATE (any, 4); c (m, n) write, also read by ACCUMULATE; e (m, n) write, of ACTIVATE_KEEP. Of a
//   batch, matrix z of each starts z times its stride (in vec4) after the first. With several terms, C is the sum of the products of
//   `terms` matrices of a and of b: step k is one of term k / params.k.
// Epilogues: see gemm_epilogue.wgsl, which precedes this text.
// Grid: x = ceil(n / TILE) column tiles, y = ceil(m / TILE) row tiles, z = splits of the matrices of the batch, where split s
//   of matrix i is z = i splits + s, has the steps s split_k .. of k and stores into matrix z of c; (TILE / 8)^2 threads; thread (tx, ty) owns the
//   rows 8 ty .. 8 ty + 7 and the columns 4 tx .. 4 tx + 3 and TILE / 2 + 4 tx ..: neighbours read neighbouring words.
// Numerics: f32, fma, k ascending. Loads are clamped into the matrix, those beyond k are multiplied by 0; values
//   beyond m and n are not stored. The next 16 steps of k are fetched while the present ones are multiplied.
//   If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it, those above are
//   skipped.
// Limits: split_k % 16 == 0; k % 16 == 0 with several terms; n % 4 == 0; k % 4 == 0 unless TRANSPOSE_A; m % 4 == 0 if TRANSPOSE_A; not both transposed; TILE is 64 or 128;
//   m == n if symmetric.
struct Params { m: u32, n: u32, k: u32, epilogue: u32, stride_a: u32, stride_b: u32, stride_c: u32, splits: u32, split_k: u32,
  symmetric: u32, first_factors: u32, terms: u32 }

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

// Row k of the tile: TILE rows of op(A), or TILE columns of op(B).
var<workgroup> tile_a: array<vec4f, TILE_K * TILE4>;
var<workgroup> tile_b: array<vec4f, TILE_K * TILE4>;

// Column i: step all_k + i of k, at the rows row .. row + 3 of op(A), which starts at a[first_term].
fn load_a(first_term: u32, row: u32, all_k: u32) -> mat4x4f {
  let term = min(all_k / params.k, params.terms - 1u);
  let k = all_k - term * params.k;
  let first = first_term + term * params.stride_a;
  if (TRANSPOSE_A) {
    let m4 = params.m / 4u;
    let steps = vec4u(k) + vec4u(0u, 1u, 2u, 3u);
    let at = first + min(steps, vec4u(params.k - 1u)) * m4 + min(row / 4u, m4 - 1u);
    let keep = vec4f(steps < vec4u(params.k));
    return mat4x4f(a[at.x] * keep.x, a[at.y] * keep.y, a[at.z] * keep.z, a[at.w] * keep.w);
  }
  let k4 = params.k / 4u;
  let rows = min(vec4u(row) + vec4u(0u, 1u, 2u, 3u), vec4u(params.m - 1u));
  let at = first + rows * k4 + min(k / 4u, k4 - 1u);
  return transpose(mat4x4f(a[at.x], a[at.y], a[at.z], a[at.w]) * f32(k < params.k));
}

// Column i: step all_k + i of k, at the columns column .. column + 3 of op(B), which starts at b[first_term].
fn load_b(first_term: u32, column: u32, all_k: u32) -> mat4x4f {
  let term = min(all_k / params.k, params.terms - 1u);
  let k = all_k - term * params.k;
  let first = first_term + term * params.stride_b;
  let n4 = params.n / 4u;
  let column4 = min(column / 4u, n4 - 1u);
  if (TRANSPOSE_B) {
    let k4 = params.k / 4u;
    let at = first + (vec4u(column4 * 4u) + vec4u(0u, 1u, 2u, 3u)) * k4 + min(k / 4u, k4 - 1u);
    return transpose(mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]));
  }
  let at = first + min(vec4u(k) + vec4u(0u, 1u, 2u, 3u), vec4u(params.k - 1u)) * n4 + column4;
  return mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]);
}

// The thread's 8 x 8 sums: rows 0 to 3 and 4 to 7 by its left and right columns.
struct Sums { s00: mat4x4f, s01: mat4x4f, s10: mat4x4f, s11: mat4x4f }

// Row j of a 4 x 4 block: sum + x[j] y.
fn outer(sum: mat4x4f, x: vec4f, y: vec4f) -> mat4x4f {
  return mat4x4f(fma(x.xxxx, y, sum[0]), fma(x.yyyy, y, sum[1]), fma(x.zzzz, y, sum[2]), fma(x.wwww, y, sum[3]));
}

// Adds one step of k, row i of the tiles.
fn add_step(sums: ptr<function, Sums>, i: u32, tx: u32, ty: u32) {
  let x0 = tile_a[i * TILE4 + ty * 2u];
  let x1 = tile_a[i * TILE4 + ty * 2u + 1u];
  let y0 = tile_b[i * TILE4 + tx];
  let y1 = tile_b[i * TILE4 + tx + THREADS_X];
  (*sums).s00 = outer((*sums).s00, x0, y0);
  (*sums).s01 = outer((*sums).s01, x0, y1);
  (*sums).s10 = outer((*sums).s10, x1, y0);
  (*sums).s11 = outer((*sums).s11, x1, y1);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  if (params.symmetric == 1u && group.x > group.y) { return; }
  let tx = thread % THREADS_X;
  let ty = thread / THREADS_X;
  let row = group.y * TILE;
  let column = group.x * TILE;
  // The TILE x 16 elements of each matrix are TILE4 x 4 blocks, of which each thread loads at most one.
  let carries = thread < TILE4 * 4u;
  let a_at = vec2u(thread / 4u, thread % 4u);
  let b_at = vec2u(thread % TILE4, min(thread / TILE4, 3u));
  let first_a = group.z / params.splits * params.stride_a;
  let first_b = group.z / params.splits * params.stride_b;
  let k_begin = group.z % params.splits * params.split_k;
  let k_end = min(k_begin + params.split_k, params.k * params.terms);
  var next_a = load_a(first_a, row + a_at.x * 4u, k_begin + a_at.y * 4u);
  var next_b = load_b(first_b, column + b_at.x * 4u, k_begin + b_at.y * 4u);
  var sums = Sums();
  for (var k = k_begin; k < k_end; k += TILE_K) {
    workgroupBarrier();
    if (carries) {
      let to_a = a_at.y * 4u * TILE4 + a_at.x;
      let to_b = b_at.y * 4u * TILE4 + b_at.x;
      tile_a[to_a] = next_a[0];
      tile_a[to_a + TILE4] = next_a[1];
      tile_a[to_a + 2u * TILE4] = next_a[2];
      tile_a[to_a + 3u * TILE4] = next_a[3];
      tile_b[to_b] = next_b[0];
      tile_b[to_b + TILE4] = next_b[1];
      tile_b[to_b + 2u * TILE4] = next_b[2];
      tile_b[to_b + 3u * TILE4] = next_b[3];
    }
    workgroupBarrier();
    next_a = load_a(first_a, row + a_at.x * 4u, k + TILE_K + a_at.y * 4u);
    next_b = load_b(first_b, column + b_at.x * 4u, k + TILE_K + b_at.y * 4u);
    // A loop of single steps is not unrolled by NVIDIA's compiler.
    for (var i = 0u; i < TILE_K; i += 4u) {
      add_step(&sums, i, tx, ty);
      add_step(&sums, i + 1u, tx, ty);
      add_step(&sums, i + 2u, tx, ty);
      add_step(&sums, i + 3u, tx, ty);
    }
  }
  let column4 = column / 4u + tx;
  let first_c = group.z * params.stride_c;
  for (var side = 0u; side < num_sides(group); side++) {
    store4(first_c, side, row + ty * 8u, column4, sums.s00);
    store4(first_c, side, row + ty * 8u, column4 + THREADS_X, sums.s01);
    store4(first_c, side, row + ty * 8u + 4u, column4, sums.s10);
    store4(first_c, side, row + ty * 8u + 4u, column4 + THREADS_X, sums.s11);
  }
}
