// Prelude of the row kernels for adapters with subgroups: a workgroup is exactly one subgroup of LANES lanes.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// The registry puts LANES before this text. Calls must be in uniform control flow.
fn lane_sum(x: f32, lane: u32) -> f32 {
  return subgroupAdd(x);
}

fn lane_max(x: f32, lane: u32) -> f32 {
  return subgroupMax(x);
}
