// What the attention kernels for any adapter share; lib/gpu/kernels.ts appends it to each of them.
// A workgroup has 64 threads; a thread owns a slice of 32 dims of one row (query, or key): thread i slice i % SLICES of row
// i / SLICES, where D = 32 SLICES. The other side comes in tiles of two matrices (keys and values, or queries and the
// gradients of the outputs) of 8 rows each in workgroup memory. The parts of a dot product meet in workgroup memory too.
// Limits: D is 32, 64 or 128; 10 KiB of workgroup memory.
override HEAD_DIM: u32 = 32u;
override SLICES: u32 = HEAD_DIM / 32u;

const THREADS = 64u;
const TILE_ROWS = 8u;

// Matrix m, row r, dims 4 d to 4 d + 3 at (8 m + r) D / 4 + d.
var<workgroup> tile: array<vec4f, 512>;
var<workgroup> parts: array<vec4f, 128>;

// 16 dims of a row of the tile.
fn tile_half(matrix: u32, row: u32, slice: u32, half: u32) -> mat4x4f {
  let at = (matrix * TILE_ROWS + row) * (HEAD_DIM / 4u) + slice * 8u + half * 4u;
  return mat4x4f(tile[at], tile[at + 1u], tile[at + 2u], tile[at + 3u]);
}

fn dot_half(x: mat4x4f, y: mat4x4f) -> f32 {
  return (dot(x[0], y[0]) + dot(x[1], y[1])) + (dot(x[2], y[2]) + dot(x[3], y[3]));
}

fn dot_row(x0: mat4x4f, x1: mat4x4f, matrix: u32, row: u32, slice: u32) -> f32 {
  return dot_half(x0, tile_half(matrix, row, slice, 0u)) + dot_half(x1, tile_half(matrix, row, slice, 1u));
}

// The dot products of a slice with those of the tile's rows 0 to 3 (column 0) and 4 to 7.
fn dot_slices(x0: mat4x4f, x1: mat4x4f, matrix: u32, slice: u32) -> mat2x4f {
  return mat2x4f(
    vec4f(dot_row(x0, x1, matrix, 0u, slice), dot_row(x0, x1, matrix, 1u, slice),
      dot_row(x0, x1, matrix, 2u, slice), dot_row(x0, x1, matrix, 3u, slice)),
    vec4f(dot_row(x0, x1, matrix, 4u, slice), dot_row(x0, x1, matrix, 5u, slice),
      dot_row(x0, x1, matrix, 6u, slice), dot_row(x0, x1, matrix, 7u, slice)));
}

// The sum of x over the slices of the thread's row, the same in each of its threads. In uniform control flow only.
fn sum_slices(x: mat2x4f, thread: u32) -> mat2x4f {
  if (SLICES == 1u) { return x; }
  workgroupBarrier();
  parts[thread * 2u] = x[0];
  parts[thread * 2u + 1u] = x[1];
  workgroupBarrier();
  let first = thread / SLICES * SLICES * 2u;
  var sum = mat2x4f();
  for (var i = 0u; i < SLICES; i++) {
    sum += mat2x4f(parts[first + i * 2u], parts[first + i * 2u + 1u]);
  }
  return sum;
}

// 16 dims of the sum of the tile's rows, weighted by s.
fn weigh_half(s: mat2x4f, matrix: u32, slice: u32, half: u32) -> mat4x4f {
  return s[0].x * tile_half(matrix, 0u, slice, half) + s[0].y * tile_half(matrix, 1u, slice, half) +
    s[0].z * tile_half(matrix, 2u, slice, half) + s[0].w * tile_half(matrix, 3u, slice, half) +
    s[1].x * tile_half(matrix, 4u, slice, half) + s[1].y * tile_half(matrix, 5u, slice, half) +
    s[1].z * tile_half(matrix, 6u, slice, half) + s[1].w * tile_half(matrix, 7u, slice, half);
}
