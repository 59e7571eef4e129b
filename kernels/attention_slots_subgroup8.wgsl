// What the attention kernels for subgroups of 8 lanes share; lib/gpu/kernels.ts appends it to each of them.
// A lane owns whole rows (queries, or keys) in 4 slots of 32 dims: slot i is slice i % SLICES of row i / SLICES, so it
// owns 4, 2 or 1 rows of D = 32, 64 or 128. The other side comes in tiles of 8 rows, row j in the registers of lane j, and
// is spread by subgroupBroadcast, about as cheap on lavapipe as one vector fma, where a load costs 40. Everything is
// unrolled by hand: Mesa unrolls no loop of this size, and an array indexed by a variable is 10 times slower.
// Limits: D is 32, 64 or 128.
override HEAD_DIM: u32 = 32u;
override SLICES: u32 = HEAD_DIM / 32u;

// Four slots of 32 dims: vec4 d of slot i is column d % 4 of matrix 2 i + d / 4. A tile has SLICES of them.
struct Slots { half: array<mat4x4f, 8> }

// For each of the lane's rows: a number for each of the tile's rows, 0 to 3 and 4 to 7.
struct Scores { low: array<vec4f, 4>, high: array<vec4f, 4> }

// Columns x, y, z, w of lanes 0 to 3.
fn spread_low(x: vec4f) -> mat4x4f {
  return transpose(mat4x4f(subgroupBroadcast(x, 0u), subgroupBroadcast(x, 1u), subgroupBroadcast(x, 2u),
    subgroupBroadcast(x, 3u)));
}

// Columns x, y, z, w of lanes 4 to 7.
fn spread_high(x: vec4f) -> mat4x4f {
  return transpose(mat4x4f(subgroupBroadcast(x, 4u), subgroupBroadcast(x, 5u), subgroupBroadcast(x, 6u),
    subgroupBroadcast(x, 7u)));
}

fn add_dots(sum: vec4f, x: vec4f, y: mat4x4f) -> vec4f {
  return fma(vec4f(x.w), y[3], fma(vec4f(x.z), y[2], fma(vec4f(x.y), y[1], fma(vec4f(x.x), y[0], sum))));
}

fn score_slot(slot: u32, half: u32, column: u32, own: ptr<function, Slots>, tile: ptr<function, Slots>,
              s: ptr<function, Scores>) {
  let row = slot / SLICES;
  let x = (*own).half[slot * 2u + half][column];
  let y = (*tile).half[slot % SLICES * 2u + half][column];
  (*s).low[row] = add_dots((*s).low[row], x, spread_low(y));
  (*s).high[row] = add_dots((*s).high[row], x, spread_high(y));
}

fn score_column(half: u32, column: u32, own: ptr<function, Slots>, tile: ptr<function, Slots>,
                s: ptr<function, Scores>) {
  score_slot(0u, half, column, own, tile, s);
  score_slot(1u, half, column, own, tile, s);
  score_slot(2u, half, column, own, tile, s);
  score_slot(3u, half, column, own, tile, s);
}

// The dot product of each of the lane's rows with each of the tile's.
fn score(own: ptr<function, Slots>, tile: ptr<function, Slots>) -> Scores {
  var s = Scores();
  score_column(0u, 0u, own, tile, &s);
  score_column(0u, 1u, own, tile, &s);
  score_column(0u, 2u, own, tile, &s);
  score_column(0u, 3u, own, tile, &s);
  score_column(1u, 0u, own, tile, &s);
  score_column(1u, 1u, own, tile, &s);
  score_column(1u, 2u, own, tile, &s);
  score_column(1u, 3u, own, tile, &s);
  return s;
}

fn weigh_slot(slot: u32, half: u32, column: u32, s: ptr<function, Scores>, tile: ptr<function, Slots>,
              sum: ptr<function, Slots>) {
  let low = (*s).low[slot / SLICES];
  let high = (*s).high[slot / SLICES];
  let y = (*tile).half[slot % SLICES * 2u + half][column];
  var x = (*sum).half[slot * 2u + half][column];
  x = fma(vec4f(low.x), subgroupBroadcast(y, 0u), x);
  x = fma(vec4f(low.y), subgroupBroadcast(y, 1u), x);
  x = fma(vec4f(low.z), subgroupBroadcast(y, 2u), x);
  x = fma(vec4f(low.w), subgroupBroadcast(y, 3u), x);
  x = fma(vec4f(high.x), subgroupBroadcast(y, 4u), x);
  x = fma(vec4f(high.y), subgroupBroadcast(y, 5u), x);
  x = fma(vec4f(high.z), subgroupBroadcast(y, 6u), x);
  x = fma(vec4f(high.w), subgroupBroadcast(y, 7u), x);
  (*sum).half[slot * 2u + half][column] = x;
}

fn weigh_column(half: u32, column: u32, s: ptr<function, Scores>, tile: ptr<function, Slots>,
                sum: ptr<function, Slots>) {
  weigh_slot(0u, half, column, s, tile, sum);
  weigh_slot(1u, half, column, s, tile, sum);
  weigh_slot(2u, half, column, s, tile, sum);
  weigh_slot(3u, half, column, s, tile, sum);
}

// Adds the tile's rows, weighted by s, to each of the lane's rows.
fn weigh(s: ptr<function, Scores>, tile: ptr<function, Slots>, sum: ptr<function, Slots>) {
  weigh_column(0u, 0u, s, tile, sum);
  weigh_column(0u, 1u, s, tile, sum);
  weigh_column(0u, 2u, s, tile, sum);
  weigh_column(0u, 3u, s, tile, sum);
  weigh_column(1u, 0u, s, tile, sum);
  weigh_column(1u, 1u, s, tile, sum);
  weigh_column(1u, 2u, s, tile, sum);
  weigh_column(1u, 3u, s, tile, sum);
}

fn scale_slot(slot: u32, factor: f32, sum: ptr<function, Slots>) {
  (*sum).half[slot * 2u] = (*sum).half[slot * 2u] * factor;
  (*sum).half[slot * 2u + 1u] = (*sum).half[slot * 2u + 1u] * factor;
}
