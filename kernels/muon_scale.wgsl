// gram = gram / norm^2 for each matrix of a stack, so that no eigenvalue is above 1.
// Source: as muon_momentum.wgsl.
// Bindings: factors read: 1 / norm^2 of matrix i in the first component of factors[first + i], see
//   muon_factors.wgsl; gram read and write: matrix i is the `stride` elements from i stride on.
// Grid: workgroups of 64 threads over stride / 4 vec4, BATCH per thread, 64 apart, times z = matrices.
//   Numerics: f32.
// Limits: stride % 4 == 0.
struct Params { stride: u32, first: u32 }

@group(0) @binding(0) var<storage, read> factors: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> gram: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let factor = factors[params.first + group.z].x;
  let first = group.z * (params.stride / 4u);
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.stride / 4u);
  for (var i = start; i < end; i += 64u) {
    gram[first + i] = gram[first + i] * factor;
  }
}
