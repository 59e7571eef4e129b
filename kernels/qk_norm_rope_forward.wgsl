// y = rope(n), n = x * s, s = 1 / sqrt(mean(x^2) + eps) over each head's D elements (s = 1 where norm is 0).
// rope turns the halves (n1, n2) of a head at position t: (n1 cos - n2 sin, n1 sin + n2 cos), angle t theta^(-i / (D/2)).
// Source: Su et al., RoFormer, 2021 (halves instead of pairs, as in GPT-NeoX); Henry et al., Query-Key Normalization, 2020.
// Bindings: x (rows, H, D) read; rope (T, 2, D/2) read: cosines, then sines, made on the host in float64;
//   y (rows, H, D) write; scale (rows, H) write: s, for the backward pass.
// Grid: one workgroup of LANES lanes per row. Numerics: f32. Limits: head_dim % 8 == 0; rows is a multiple of T.
struct Params { rows: u32, num_heads: u32, head_dim: u32, sequence_length: u32, norm: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> rope: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> scale: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;

const EPSILON = 1.1920929e-7f;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let half4 = params.head_dim / 8u;
  let angles = (row % params.sequence_length) * 2u * half4;
  for (var head = 0u; head < params.num_heads; head++) {
    let base = (row * params.num_heads + head) * 2u * half4;
    var s = 1f;
    if (params.norm != 0u) {
      var sum = 0f;
      for (var i = lane; i < 2u * half4; i += LANES) {
        let v = x[base + i];
        sum += dot(v, v);
      }
      s = inverseSqrt(lane_sum(sum, lane) / f32(params.head_dim) + EPSILON);
    }
    for (var i = lane; i < half4; i += LANES) {
      let n1 = x[base + i] * s;
      let n2 = x[base + half4 + i] * s;
      let c = rope[angles + i];
      let d = rope[angles + half4 + i];
      y[base + i] = n1 * c - n2 * d;
      y[base + half4 + i] = n1 * d + n2 * c;
    }
    if (lane == 0u) { scale[row * params.num_heads + head] = s; }
  }
}
