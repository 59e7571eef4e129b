// dx of y = rope(x * s), s = 1 / sqrt(mean(x^2) + eps), given dy: with dn = rope^T(dy),
//   dx = s dn - x s^3 mean(dn x), the mean over the head's D elements (dx = dn where norm is 0).
// Source: the derivative of qk_norm_rope_forward.wgsl.
// Bindings: x (rows, H, D) read; rope (T, 2, D/2) read; scale (rows, H) read; dy (rows, H, D) read; dx (rows, H, D) write.
// Grid: one workgroup of LANES lanes per row. Numerics: f32. Limits: head_dim % 8 == 0; rows is a multiple of T.
struct Params { rows: u32, num_heads: u32, head_dim: u32, sequence_length: u32, norm: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> rope: array<vec4f>;
@group(0) @binding(2) var<storage, read> scale: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let half4 = params.head_dim / 8u;
  let angles = (row % params.sequence_length) * 2u * half4;
  for (var head = 0u; head < params.num_heads; head++) {
    let base = (row * params.num_heads + head) * 2u * half4;
    let s = scale[row * params.num_heads + head];
    var product = 0f;
    if (params.norm != 0u) {
      var sum = 0f;
      for (var i = lane; i < half4; i += LANES) {
        let c = rope[angles + i];
        let d = rope[angles + half4 + i];
        let g1 = dy[base + i];
        let g2 = dy[base + half4 + i];
        sum += dot(g1 * c + g2 * d, x[base + i]) + dot(g2 * c - g1 * d, x[base + half4 + i]);
      }
      product = lane_sum(sum, lane) / f32(params.head_dim) * s * s * s;
    }
    for (var i = lane; i < half4; i += LANES) {
      let c = rope[angles + i];
      let d = rope[angles + half4 + i];
      let g1 = dy[base + i];
      let g2 = dy[base + half4 + i];
      dx[base + i] = (g1 * c + g2 * d) * s - x[base + i] * product;
      dx[base + half4 + i] = (g2 * c - g1 * d) * s - x[base + half4 + i] * product;
    }
  }
}
