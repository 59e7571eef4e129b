// Sums of outer products of tiles in workgroup memory, the inner part of the kernels for any adapter: 8 x 8
// sums per thread. It is appended to gemm_tiled and the attention kernels, which define TILE_PARTS and
// params.one.
// Source: the register-blocked SGEMM of Volkov and Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, SC 2008.
//
// Steps of a sum come in groups of four. Four rows or columns at one step are a part; tile[s][width g +
// swizzled(g, i)] is part i of step s of group g. This way one index serves four loads (the compiler checks
// each index of workgroup memory), and a thread that stores four steps uses other banks than its neighbours,
// which store those of the next groups.

// For GPUs: NVIDIA's compiler does not unroll loops; Mesa's does, and then takes minutes to compile.
override UNROLLED: bool = false;
var<workgroup> tile: array<array<vec4f, TILE_PARTS>, 4>;

// n, hidden from Mesa so that it does not unroll a loop of n iterations. params.one is 1.
fn times(n: u32) -> u32 { return select(n * params.one, n, UNROLLED); }

// A permutation of every eight parts.
fn swizzled(group: u32, part: u32) -> u32 {
  return part ^ (((group << 1u) & 6u) | ((group >> 2u) & 1u));
}

// Stores the four steps of a group, the columns of a block.
fn store_steps(at: u32, block: mat4x4f) {
  tile[0][at] = block[0];
  tile[1][at] = block[1];
  tile[2][at] = block[2];
  tile[3][at] = block[3];
}

// 8 x 8 sums: the first and the last four rows, by the first and the last four columns. Neither they nor any
// other array or matrix of a function is ever indexed by a variable: NVIDIA's compiler would then keep all of
// them in memory.
struct Sums { s00: mat4x4f, s01: mat4x4f, s10: mat4x4f, s11: mat4x4f }

// Block (i / 2, i % 2) of the sums, for a loop that stores them: Mesa takes a tenth of a second or more to
// compile each store.
fn block_of_sums(sums: Sums, i: u32) -> mat4x4f {
  if (i == 0u) { return sums.s00; }
  if (i == 1u) { return sums.s01; }
  if (i == 2u) { return sums.s10; }
  return sums.s11;
}

// Row j of a 4 x 4 block: sum + x[j] y.
fn outer(sum: mat4x4f, x: vec4f, y: vec4f) -> mat4x4f {
  return mat4x4f(fma(x.xxxx, y, sum[0]), fma(x.yyyy, y, sum[1]), fma(x.zzzz, y, sum[2]), fma(x.wwww, y, sum[3]));
}

// Adds step s of a group: rows from the parts x0 and x1, columns from y0 and y1.
fn add_step(sums: ptr<function, Sums>, s: u32, x0: u32, x1: u32, y0: u32, y1: u32) {
  let u0 = tile[s][x0];
  let u1 = tile[s][x1];
  let w0 = tile[s][y0];
  let w1 = tile[s][y1];
  (*sums).s00 = outer((*sums).s00, u0, w0);
  (*sums).s01 = outer((*sums).s01, u0, w1);
  (*sums).s10 = outer((*sums).s10, u1, w0);
  (*sums).s11 = outer((*sums).s11, u1, w1);
}

// Adds the four steps of a group.
fn add_steps(sums: ptr<function, Sums>, x0: u32, x1: u32, y0: u32, y1: u32) {
  if (UNROLLED) {
    add_step(sums, 0u, x0, x1, y0, y1);
    add_step(sums, 1u, x0, x1, y0, y1);
    add_step(sums, 2u, x0, x1, y0, y1);
    add_step(sums, 3u, x0, x1, y0, y1);
  } else {
    for (var s = 0u; s < times(4u); s++) { add_step(sums, s, x0, x1, y0, y1); }
  }
}
