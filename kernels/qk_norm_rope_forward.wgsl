// y = rope(norm(x)) of each head: norm(x) = s x with s = 1 / sqrt(mean(x^2) + eps) over its D dims, or s = 1 if not NORM;
// rope turns each pair (x[i], x[i + D / 2]) by the angle t * 10000^(-2 i / D), t = row % sequence_length.
// Source: Su et al., RoFormer, 2021, equation 34, with pairs from the two halves instead of neighbours, as in GPT-NeoX;
//   Henry et al., Query-Key Normalization for Transformers, 2020, with rmsNorm.
// Bindings: x (rows, H, D) read; rotation (T, D / 8, 2, 4) read: 4 cosines, 4 sines; y (rows, H, D) write;
//   scale (rows, H) write if NORM: s, for the backward pass.
// Grid: ceil(rows * H / 64) workgroups of 64 threads over x and y, a thread per head of a row.
// Numerics: f32; cosines and sines come from the host, since WGSL's are accurate only in [-pi, pi].
// Limits: D = head_dim is a multiple of 8.
struct Params { num_heads_total: u32, num_heads: u32, head_dim: u32, sequence_length: u32 }

override NORM: bool = true;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> scale: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;

const EPSILON = 1.1920929e-7f;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let head = (group.y * groups.x + group.x) * 64u + thread;
  if (head >= params.num_heads_total) { return; }
  let first = head * (params.head_dim / 4u);
  let second = first + params.head_dim / 8u;
  let table = head / params.num_heads % params.sequence_length * (params.head_dim / 4u);
  var s = 1f;
  if (NORM) {
    var sum = 0f;
    for (var i = 0u; i < params.head_dim / 8u; i++) {
      let x1 = x[first + i];
      let x2 = x[second + i];
      sum += dot(x1, x1) + dot(x2, x2);
    }
    s = inverseSqrt(sum / f32(params.head_dim) + EPSILON);
    scale[head] = s;
  }
  for (var i = 0u; i < params.head_dim / 8u; i++) {
    let x1 = x[first + i] * s;
    let x2 = x[second + i] * s;
    let cosine = rotation[table + 2u * i];
    let sine = rotation[table + 2u * i + 1u];
    y[first + i] = x1 * cosine - x2 * sine;
    y[second + i] = x1 * sine + x2 * cosine;
  }
}
