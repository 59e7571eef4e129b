// y = rope(norm(x)) of each head: norm(x) = s x with s = 1 / sqrt(mean(x^2) + eps) over its D dims, or s = 1 if not NORM;
// rope turns each pair (x[i], x[i + D / 2]) by the angle t * 10000^(-2 i / D), t = row % sequence_length.
// Source: Su et al., RoFormer, 2021, equation 34, with pairs from the two halves instead of neighbours, as in GPT-NeoX;
//   Henry et al., Query-Key Normalization for Transformers, 2020, with rmsNorm.
// Bindings: x (rows, H, D) read; rotation (T, D / 8, 2, 4) read: 4 cosines, 4 sines; y (rows, H, D) write;
//   scale (rows, H) write if NORM: s, for the backward pass; previous read if SHIFT, see below.
// If SHIFT, the 2nd and the 4th quarter of each head from first_shifted on come from the same head of row
//   previous[r], which is r or r - 1; row r = 0 has the head first_shifted. See shift_keys.wgsl.
// Grid: workgroups of GROUP_SIZE / HEAD_LANES heads of rows over x and y: HEAD_LANES lanes share a head, and
//   each has every HEAD_LANES-th pair of vec4.
// Numerics: f32, sums of squares per lane, then over lanes; cosines and sines come from the host, since WGSL's are accurate
//   only in [-pi, pi].
// Limits: D = head_dim is a multiple of 8, or of 16 if SHIFT.
struct Params { num_heads_total: u32, num_heads: u32, head_dim: u32, sequence_length: u32, first_shifted: u32 }

override NORM: bool = true;
override SHIFT: bool = false;
// A power of 2, at most LANES.
override HEAD_LANES: u32 = 1u;
// How many pairs a lane keeps in registers between the sum and the result, at most ceil(D / (8 HEAD_LANES));
// the others are read twice.
override NUM_KEPT: u32 = 1u;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> scale: array<f32>;
@group(0) @binding(4) var<storage, read> previous: array<u32>;
@group(0) @binding(5) var<uniform> params: Params;

const EPSILON = 1.1920929e-7f;

// Dims 4 i onwards and D / 2 + 4 i onwards of a head, which a rotation mixes.
struct Pair { first: vec4f, second: vec4f }

fn pair_at(at: u32) -> Pair {
  return Pair(x[at], x[at + params.head_dim / 8u]);
}

fn square_of(pair: Pair) -> f32 {
  return dot(pair.first, pair.first) + dot(pair.second, pair.second);
}

fn scale_of(sum: f32, lane: u32) -> f32 {
  return inverseSqrt(part_sum(sum, lane, HEAD_LANES) / f32(params.head_dim) + EPSILON);
}

// 4 cosines and 4 sines.
fn turn_at(at: u32) -> Pair {
  return Pair(rotation[at], rotation[at + 1u]);
}

fn store_pair(at: u32, turn: Pair, pair: Pair, factor: f32) {
  let x1 = pair.first * factor;
  let x2 = pair.second * factor;
  y[at] = x1 * turn.first - x2 * turn.second;
  y[at + params.head_dim / 8u] = x1 * turn.second + x2 * turn.first;
}

@compute @workgroup_size(GROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let lane = thread % LANES;
  let at = ((group.y * groups.x + group.x) * GROUP_SIZE + thread) / HEAD_LANES;
  // Lanes without a head take part in the sums.
  let head = min(at, params.num_heads_total - 1u);
  let num_pairs = params.head_dim / 8u;
  let start = thread % HEAD_LANES;
  let first = head * 2u * num_pairs;
  let table = head / params.num_heads % params.sequence_length * 2u * num_pairs;
  var kept = array<Pair, max(1u, NUM_KEPT)>();
  for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
    kept[k] = pair_at(first + min(start + k * HEAD_LANES, num_pairs - 1u));
  }
  var from_first = first;
  var from_table = table;
  if (SHIFT && head >= params.first_shifted) {
    let row = (head - params.first_shifted) / params.num_heads;
    if (previous[row] != row) {
      from_first -= params.num_heads * 2u * num_pairs;
      from_table -= 2u * num_pairs;
    }
  }
  var turns = array<Pair, max(1u, NUM_KEPT)>();
  for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
    let i = min(start + k * HEAD_LANES, num_pairs - 1u);
    turns[k] = turn_at(select(table, from_table, SHIFT && i >= num_pairs / 2u) + 2u * i);
  }
  var s = 1f;
  var from_s = 1f;
  if (NORM) {
    var sum = 0f;
    for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
      if (start + k * HEAD_LANES < num_pairs) { sum += square_of(kept[k]); }
    }
    for (var i = start + NUM_KEPT * HEAD_LANES; i < num_pairs; i += HEAD_LANES) {
      sum += square_of(pair_at(first + i));
    }
    s = scale_of(sum, lane);
    from_s = s;
  }
  if (SHIFT) {
    var sum = 0f;
    if (from_first != first) {
      for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
        let i = min(start + k * HEAD_LANES, num_pairs - 1u);
        let pair = pair_at(from_first + i);
        if (start + k * HEAD_LANES < num_pairs) { sum += square_of(pair); }
        if (i >= num_pairs / 2u) { kept[k] = pair; }
      }
      for (var i = start + NUM_KEPT * HEAD_LANES; NORM && i < num_pairs; i += HEAD_LANES) {
        sum += square_of(pair_at(from_first + i));
      }
    }
    if (NORM) {
      let other_s = scale_of(sum, lane);
      if (from_first != first) { from_s = other_s; }
    }
  }
  if (at >= params.num_heads_total) { return; }
  for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
    let i = start + k * HEAD_LANES;
    let is_shifted = SHIFT && i >= num_pairs / 2u;
    if (i < num_pairs) { store_pair(first + i, turns[k], kept[k], select(s, from_s, is_shifted)); }
  }
  for (var i = start + NUM_KEPT * HEAD_LANES; i < num_pairs; i += HEAD_LANES) {
    let is_shifted = SHIFT && i >= num_pairs / 2u;
    let pair = pair_at(select(first, from_first, is_shifted) + i);
    let turn = turn_at(select(table, from_table, is_shifted) + 2u * i);
    store_pair(first + i, turn, pair, select(s, from_s, is_shifted));
  }
  if (NORM && start == 0u) { scale[head] = s; }
}
