// The shared part of the attention kernels for subgroups of 8 lanes.
// A lane owns whole rows (queries, or keys) in 4 slots of 32 dims: slot i is slice i % SLICES of row i / SLICES, so it
// owns 4, 2 or 1 rows of D = 32, 64 or 128. The other side is loaded row by row, 4 dims of each slice per lane, and
// distributed by subgroupBroadcast, about as cheap on lavapipe as one vector fma, while a load costs 40. Everything is
// unrolled by hand: Mesa does not unroll loops of this size, and an array indexed by a variable is 10 times slower.
// More than one row at a time is slower: the code of the loop (52 KiB forward with 4 rows) then exceeds the
// processor's instruction cache (32 KiB), see lib/tensor/RESULTS.md.
// Limits: D is 32, 64 or 128.
override HEAD_DIM: u32 = 32u;
override SLICES: u32 = HEAD_DIM / 32u;
const LOG2_E = 1.4426950408889634f;

// Four slots of 32 dims: vec4 d of slot i at 8 i + d.
struct Slots { part: array<vec4f, 32> }

// A row of the other side: lane l holds vec4 l of each slice.
struct Row { slice: array<vec4f, 4> }

// One number per row of the lane.
struct Scores { row: array<f32, 4> }

// The x of one lane, in all lanes.
fn spread(lane: u32, x: vec4f) -> vec4f {
  if (lane == 0u) { return subgroupBroadcast(x, 0u); }
  if (lane == 1u) { return subgroupBroadcast(x, 1u); }
  if (lane == 2u) { return subgroupBroadcast(x, 2u); }
  if (lane == 3u) { return subgroupBroadcast(x, 3u); }
  if (lane == 4u) { return subgroupBroadcast(x, 4u); }
  if (lane == 5u) { return subgroupBroadcast(x, 5u); }
  if (lane == 6u) { return subgroupBroadcast(x, 6u); }
  return subgroupBroadcast(x, 7u);
}

fn score_slot(slot: u32, d: u32, own: ptr<function, Slots>, other: ptr<function, Row>, s: ptr<function, Scores>) {
  let x = (*own).part[slot * 8u + d];
  let y = spread(d, (*other).slice[slot % SLICES]);
  let sum = (*s).row[slot / SLICES];
  (*s).row[slot / SLICES] = fma(x.w, y.w, fma(x.z, y.z, fma(x.y, y.y, fma(x.x, y.x, sum))));
}

fn score_part(d: u32, own: ptr<function, Slots>, other: ptr<function, Row>, s: ptr<function, Scores>) {
  score_slot(0u, d, own, other, s);
  score_slot(1u, d, own, other, s);
  score_slot(2u, d, own, other, s);
  score_slot(3u, d, own, other, s);
}

// The dot product of each of the lane's rows with the other row.
fn score(own: ptr<function, Slots>, other: ptr<function, Row>) -> Scores {
  var s = Scores();
  score_part(0u, own, other, &s);
  score_part(1u, own, other, &s);
  score_part(2u, own, other, &s);
  score_part(3u, own, other, &s);
  score_part(4u, own, other, &s);
  score_part(5u, own, other, &s);
  score_part(6u, own, other, &s);
  score_part(7u, own, other, &s);
  return s;
}

fn weigh_slot(slot: u32, d: u32, keep: ptr<function, Scores>, s: ptr<function, Scores>, other: ptr<function, Row>,
              sum: ptr<function, Slots>) {
  let y = spread(d, (*other).slice[slot % SLICES]);
  let kept = (*sum).part[slot * 8u + d] * (*keep).row[slot / SLICES];
  (*sum).part[slot * 8u + d] = fma(vec4f((*s).row[slot / SLICES]), y, kept);
}

fn weigh_part(d: u32, keep: ptr<function, Scores>, s: ptr<function, Scores>, other: ptr<function, Row>,
              sum: ptr<function, Slots>) {
  weigh_slot(0u, d, keep, s, other, sum);
  weigh_slot(1u, d, keep, s, other, sum);
  weigh_slot(2u, d, keep, s, other, sum);
  weigh_slot(3u, d, keep, s, other, sum);
}

// sum = keep sum + s other for each of the lane's rows.
fn weigh(keep: ptr<function, Scores>, s: ptr<function, Scores>, other: ptr<function, Row>,
         sum: ptr<function, Slots>) {
  weigh_part(0u, keep, s, other, sum);
  weigh_part(1u, keep, s, other, sum);
  weigh_part(2u, keep, s, other, sum);
  weigh_part(3u, keep, s, other, sum);
  weigh_part(4u, keep, s, other, sum);
  weigh_part(5u, keep, s, other, sum);
  weigh_part(6u, keep, s, other, sum);
  weigh_part(7u, keep, s, other, sum);
}
