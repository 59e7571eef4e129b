// For each matrix of a stack, polynomial = a I + b gram + c gram_squared, (a, b, c) = (3.4445, -4.7750, 2.0315): one Newton-Schulz step is then
// one product, X <- polynomial X, with gram = X X^T.
// Source: as muon_momentum.wgsl (coefficients from there).
// Bindings: gram, gram_squared (count, size, size) read; polynomial (count, size, size) write.
// Grid: workgroups of 64 threads over count size^2 / 4 vec4, BATCH of them a thread, 64 apart. Numerics: f32.
// Limits: size % 4 == 0.
struct Params { count: u32, size: u32 }

@group(0) @binding(0) var<storage, read> gram: array<vec4f>;
@group(0) @binding(1) var<storage, read> gram_squared: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> polynomial: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

const BATCH = 8u;
const A = 3.4445f;
const B = -4.7750f;
const C = 2.0315f;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let size4 = params.size / 4u;
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.count * params.size * size4);
  for (var i = start; i < end; i += 64u) {
    let column = i % size4 * 4u;
    let diagonal = vec4u(column, column + 1u, column + 2u, column + 3u) == vec4u(i / size4 % params.size);
    polynomial[i] = select(vec4f(0f), vec4f(A), diagonal) + B * gram[i] + C * gram_squared[i];
  }
}
