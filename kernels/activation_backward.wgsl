// du = dh f'(u) elementwise, for the activations f of activation_forward.wgsl (sources there).
// Bindings: u, dh (length) read; du (length) write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart.
// Numerics: f32; as in the forward pass nothing overflows in exp and tanh.
// Limits: length % 4 == 0.
struct Params { length: u32 }

override KIND: u32 = 0;

@group(0) @binding(0) var<storage, read> u: array<vec4f>;
@group(0) @binding(1) var<storage, read> dh: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> du: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

const BATCH = 8u;
const SQRT_2_OVER_PI = 0.7978845608f;
const GELU_CUBIC = 0.044715f;

fn slope(x: vec4f) -> vec4f {
  if (KIND == 0u) {
    return 2f * max(x, vec4f(0f));
  }
  if (KIND == 1u) {
    let t = tanh(clamp(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x), vec4f(-10f), vec4f(10f)));
    let inner = SQRT_2_OVER_PI * (1f + 3f * GELU_CUBIC * x * x);
    return 0.5f * (1f + t) + 0.5f * x * (1f - t * t) * inner;
  }
  let e = exp(-abs(x));
  let sigmoid = select(e, vec4f(1f), x >= vec4f(0f)) / (1f + e);
  return sigmoid * (1f + x * (1f - sigmoid));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    du[i] = dh[i] * slope(u[i]);
  }
}
