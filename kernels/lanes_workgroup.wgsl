// Prelude of the row kernels for adapters without subgroups: a tree in workgroup memory, a fixed order.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// The registry puts LANES (a power of two) before this text. Calls must be in uniform control flow.
var<workgroup> lane_scratch: array<f32, LANES>;

fn lane_sum(x: f32, lane: u32) -> f32 {
  workgroupBarrier();
  lane_scratch[lane] = x;
  for (var half = LANES / 2u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (lane < half) {
      lane_scratch[lane] = lane_scratch[lane] + lane_scratch[lane + half];
    }
  }
  workgroupBarrier();
  return lane_scratch[0];
}

fn lane_max(x: f32, lane: u32) -> f32 {
  workgroupBarrier();
  lane_scratch[lane] = x;
  for (var half = LANES / 2u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (lane < half) {
      lane_scratch[lane] = max(lane_scratch[lane], lane_scratch[lane + half]);
    }
  }
  workgroupBarrier();
  return lane_scratch[0];
}
