// C = op(A) op(B) with an epilogue such as a sum or an activation, where op transposes or not. For adapters
// whose subgroups have exactly 8 lanes (lavapipe on AVX2): a load costs 40 times as much as a vector fma, and
// a subgroupBroadcast about as much as an fma, so each lane loads a 4 x 4 block of A and one of B per 4 steps
// of k, and the blocks of A are distributed by broadcast. lib/tensor/ops/gemm.ts has measurements.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if
//   TRANSPOSE_B, read; d (m, n) read by ADD, SLOPE, POLYNOMIAL, or (any, 4) by UPDATE; c (m, n) write, also
//   read by ACCUMULATE; e (m, n) write by ACTIVATE_KEEP. In a batch, matrix z of each starts z times its
//   stride (in vec4) after the first. With several terms, C is the sum of the products of `terms` matrices of
//   a and of b.
// Epilogues: see gemm_epilogue.wgsl.
// Grid: x = ceil(n / 32) column tiles, y = ceil(m / 32) row tiles, z = matrices of the batch; one subgroup of
//   8 lanes per tile; lane l owns the columns 4 l .. 4 l + 3 of all 32 rows; s[i] is the rows 4 i .. 4 i + 3,
//   a matrix whose column j is row 4 i + j.
// Numerics: f32, four products are summed, then added to the accumulator, k ascending. Loads are clamped into
//   the matrix; duplicated values are not stored, or are multiplied by 0 if k is not a multiple of 4. (It is
//   slower without the clamps.) If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on
//   both sides of it; those above are skipped.
// Limits: n % 4 == 0; k % 4 == 0 unless TRANSPOSE_A; m % 4 == 0 if TRANSPOSE_A; not both transposed; m == n if symmetric.
// #include gemm_epilogue.wgsl
struct Params { m: u32, n: u32, k: u32, epilogue: u32, stride_a: u32, stride_b: u32, stride_c: u32, symmetric: u32,
  first_factors: u32, terms: u32 }

override TRANSPOSE_A: bool = false;
override TRANSPOSE_B: bool = false;

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read> d: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> e: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

// Column j: the 4 steps of k from k4 * 4 of row row0 + j of op(A), which starts at a[first].
fn load_a(first: u32, row0: u32, k4: u32) -> mat4x4f {
  if (TRANSPOSE_A) {
    let m4 = params.m / 4u;
    let column = min(row0 / 4u, m4 - 1u);
    let k = vec4u(k4 * 4u) + vec4u(0u, 1u, 2u, 3u);
    let at = first + min(k, vec4u(params.k - 1u)) * m4 + column;
    let keep = vec4f(k < vec4u(params.k));
    return transpose(mat4x4f(a[at.x] * keep.x, a[at.y] * keep.y, a[at.z] * keep.z, a[at.w] * keep.w));
  }
  let rows = min(vec4u(row0) + vec4u(0u, 1u, 2u, 3u), vec4u(params.m - 1u));
  let at = first + rows * (params.k / 4u) + k4;
  return mat4x4f(a[at.x], a[at.y], a[at.z], a[at.w]);
}

// Column i: row k4 * 4 + i of op(B), which starts at b[first], at the lane's 4 columns.
fn load_b(first: u32, column4: u32, k4: u32) -> mat4x4f {
  if (TRANSPOSE_B) {
    let at = first + (vec4u(column4 * 4u) + vec4u(0u, 1u, 2u, 3u)) * (params.k / 4u) + k4;
    return transpose(mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]));
  }
  let k = min(vec4u(k4 * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(params.k - 1u));
  let at = first + k * (params.n / 4u) + column4;
  return mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]);
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  if (params.symmetric == 1u && group.x > group.y) { return; }
  let row = group.y * 32u;
  let column4 = group.x * 8u + lane;
  let n4 = params.n / 4u;
  let b_column4 = min(column4, n4 - 1u);
  let first_a = group.z * params.stride_a;
  let first_b = group.z * params.stride_b;
  var s = array<mat4x4f, 8>();
  let k_end = (params.k + 3u) / 4u;
  for (var term = 0u; term < params.terms; term++) {
    let term_a = first_a + term * params.stride_a;
    let term_b = first_b + term * params.stride_b;
    for (var k4 = 0u; k4 < k_end; k4++) {
      let x = load_a(term_a, row + lane * 4u, k4);
      let y = load_b(term_b, b_column4, k4);
      s[0] += y * mat4x4f(subgroupBroadcast(x[0], 0u), subgroupBroadcast(x[1], 0u),
                          subgroupBroadcast(x[2], 0u), subgroupBroadcast(x[3], 0u));
      s[1] += y * mat4x4f(subgroupBroadcast(x[0], 1u), subgroupBroadcast(x[1], 1u),
                          subgroupBroadcast(x[2], 1u), subgroupBroadcast(x[3], 1u));
      s[2] += y * mat4x4f(subgroupBroadcast(x[0], 2u), subgroupBroadcast(x[1], 2u),
                          subgroupBroadcast(x[2], 2u), subgroupBroadcast(x[3], 2u));
      s[3] += y * mat4x4f(subgroupBroadcast(x[0], 3u), subgroupBroadcast(x[1], 3u),
                          subgroupBroadcast(x[2], 3u), subgroupBroadcast(x[3], 3u));
      s[4] += y * mat4x4f(subgroupBroadcast(x[0], 4u), subgroupBroadcast(x[1], 4u),
                          subgroupBroadcast(x[2], 4u), subgroupBroadcast(x[3], 4u));
      s[5] += y * mat4x4f(subgroupBroadcast(x[0], 5u), subgroupBroadcast(x[1], 5u),
                          subgroupBroadcast(x[2], 5u), subgroupBroadcast(x[3], 5u));
      s[6] += y * mat4x4f(subgroupBroadcast(x[0], 6u), subgroupBroadcast(x[1], 6u),
                          subgroupBroadcast(x[2], 6u), subgroupBroadcast(x[3], 6u));
      s[7] += y * mat4x4f(subgroupBroadcast(x[0], 7u), subgroupBroadcast(x[1], 7u),
                          subgroupBroadcast(x[2], 7u), subgroupBroadcast(x[3], 7u));
    }
  }
  if (column4 >= n4) { return; }
  // A bound unknown to the compiler, because unrolled stores take 4 s to compile instead of 0.5 s.
  let blocks = min((params.m - row + 3u) / 4u, 8u);
  for (var side = 0u; side < num_sides(group); side++) {
    for (var i = 0u; i < blocks; i++) {
      store4(group.z * params.stride_c, side, row + i * 4u, column4, s[i]);
    }
  }
}
