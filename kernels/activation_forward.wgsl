// h = f(u) elementwise: relu(u)^2 (KIND 0), GELU by its tanh form (KIND 1), SiLU u / (1 + exp(-u)) (KIND 2).
// Sources: So et al., Primer, NeurIPS 2021 (relu^2); Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv
//   1606.08415, section 2; Elfwing et al., Neural Networks 107 (2018) (SiLU).
// Bindings: u (length) read; h (length) write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart.
// Numerics: f32; the argument of exp is at most 0 and that of tanh within [-10, 10], so nothing overflows.
// Limits: length % 4 == 0.
struct Params { length: u32 }

override KIND: u32 = 0;

@group(0) @binding(0) var<storage, read> u: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> h: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;

const BATCH = 8u;
const SQRT_2_OVER_PI = 0.7978845608f;
const GELU_CUBIC = 0.044715f;

fn activate(x: vec4f) -> vec4f {
  if (KIND == 0u) {
    let r = max(x, vec4f(0f));
    return r * r;
  }
  if (KIND == 1u) {
    let t = clamp(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x), vec4f(-10f), vec4f(10f));
    return 0.5f * x * (1f + tanh(t));
  }
  let e = exp(-abs(x));
  return x * select(e, vec4f(1f), x >= vec4f(0f)) / (1f + e);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    h[i] = activate(u[i]);
  }
}
