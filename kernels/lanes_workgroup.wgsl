// Prelude of the row kernels for adapters without subgroups: a workgroup of LANES lanes has one row, and sums
// are trees in workgroup memory, with a fixed order.
//   row_of(group, thread) = the row of a workgroup; a thread is a lane;
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise;
//   part_sum(x, lane, count) = sum of x over count lanes, a power of 2, from lane - lane % count on.
// The registry puts LANES (a power of two) and GROUP_SIZE, which are equal here, before this source. Calls
// must be in uniform control flow.
var<workgroup> lane_scratch: array<f32, LANES>;

fn row_of(group: u32, thread: u32) -> u32 {
  return group;
}

fn lane_sum(x: f32, lane: u32) -> f32 {
  return part_sum(x, lane, LANES);
}

fn part_sum(x: f32, lane: u32, count: u32) -> f32 {
  workgroupBarrier();
  lane_scratch[lane] = x;
  for (var half = count / 2u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (lane % count < half) {
      lane_scratch[lane] = lane_scratch[lane] + lane_scratch[lane + half];
    }
  }
  workgroupBarrier();
  return lane_scratch[lane - lane % count];
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
