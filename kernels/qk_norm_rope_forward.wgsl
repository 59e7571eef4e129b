// y = rope(norm(x)) of each head: norm(x) = s x with s = 1 / sqrt(mean(x^2) + eps) over its D dims, or s = 1 if not NORM;
// rope turns each pair (x[i], x[i + D / 2]) by the angle t * 10000^(-2 i / D), t = row % sequence_length.
// Source: Su et al., RoFormer, 2021, equation 34, with pairs from the two halves instead of neighbours, as in GPT-NeoX;
//   Henry et al., Query-Key Normalization for Transformers, 2020, with rmsNorm.
// Bindings: x (rows, H, D) read; rotation (T, D / 8, 2, 4) read: 4 cosines, 4 sines; y (rows, H, D) write;
//   scale (rows, H) write if NORM: s, for the backward pass; previous read if SHIFT, see below.
// If SHIFT, the 2nd and the 4th quarter of each head from first_shifted on are those of the same head of row previous[r],
//   which is r or r - 1, where row r = 0 has the head first_shifted: see shift_keys.wgsl.
// Grid: ceil(rows * H / 64) workgroups of 64 threads over x and y, a thread per head of a row.
// Numerics: f32; cosines and sines come from the host, since WGSL's are accurate only in [-pi, pi].
// Limits: D = head_dim is a multiple of 8, or of 16 if SHIFT.
struct Params { num_heads_total: u32, num_heads: u32, head_dim: u32, sequence_length: u32, first_shifted: u32 }

override NORM: bool = true;
override SHIFT: bool = false;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> scale: array<f32>;
@group(0) @binding(4) var<storage, read> previous: array<u32>;
@group(0) @binding(5) var<uniform> params: Params;

const EPSILON = 1.1920929e-7f;

// s of the head that starts at x[first].
fn scale_of(first: u32) -> f32 {
  var sum = 0f;
  for (var i = first; i < first + params.head_dim / 8u; i++) {
    let x1 = x[i];
    let x2 = x[i + params.head_dim / 8u];
    sum += dot(x1, x1) + dot(x2, x2);
  }
  return inverseSqrt(sum / f32(params.head_dim) + EPSILON);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let head = (group.y * groups.x + group.x) * 64u + thread;
  if (head >= params.num_heads_total) { return; }
  let head_vec4 = params.head_dim / 4u;
  let first = head * head_vec4;
  let table = head / params.num_heads % params.sequence_length * head_vec4;
  var s = 1f;
  if (NORM) {
    s = scale_of(first);
    scale[head] = s;
  }
  var from_first = first;
  var from_table = table;
  var from_s = s;
  if (SHIFT && head >= params.first_shifted) {
    let row = (head - params.first_shifted) / params.num_heads;
    if (previous[row] != row) {
      from_first -= params.num_heads * head_vec4;
      from_table -= head_vec4;
      if (NORM) { from_s = scale_of(from_first); }
    }
  }
  for (var i = 0u; i < head_vec4 / 2u; i++) {
    let is_shifted = SHIFT && i >= head_vec4 / 4u;
    let at = select(first, from_first, is_shifted) + i;
    let turn = select(table, from_table, is_shifted) + 2u * i;
    let factor = select(s, from_s, is_shifted);
    let x1 = x[at] * factor;
    let x2 = x[at + head_vec4 / 2u] * factor;
    let cosine = rotation[turn];
    let sine = rotation[turn + 1u];
    y[first + i] = x1 * cosine - x2 * sine;
    y[first + head_vec4 / 2u + i] = x1 * sine + x2 * cosine;
  }
}
