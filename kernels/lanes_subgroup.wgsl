// Prelude of the row kernels for adapters with subgroups: each of a workgroup's subgroups of LANES lanes has a row.
//   row_of(group, thread) = the row of a thread of a workgroup; its lane is thread % LANES;
//   lane_sum(x, lane) = sum of x over the row's lanes, the same value in every lane; lane_max likewise;
//   part_sum(x, lane, count) = sum of x over count lanes, a power of 2, from lane - lane % count on.
// The registry puts LANES and GROUP_SIZE, a multiple of LANES, before this source. The lanes of a row must
// make the same calls.
fn row_of(group: u32, thread: u32) -> u32 {
  return group * (GROUP_SIZE / LANES) + thread / LANES;
}

fn lane_sum(x: f32, lane: u32) -> f32 {
  return subgroupAdd(x);
}

fn lane_max(x: f32, lane: u32) -> f32 {
  return subgroupMax(x);
}

fn part_sum(x: f32, lane: u32, count: u32) -> f32 {
  var sum = x;
  for (var half = count / 2u; half > 0u; half = half / 2u) {
    sum += subgroupShuffleXor(sum, half);
  }
  return sum;
}
