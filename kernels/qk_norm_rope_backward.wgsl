// dx of y = rope(norm(x)) for each head, given dy: dz is dy with the inverse rotation, dx = s (dz - x s^2 mean(x dz)),
// or dz if not NORM.
// Source: the derivative of qk_norm_rope_forward.wgsl; a rotation's transpose is its inverse.
// Bindings: x, dy (rows, H, D) read; rotation (T, D / 8, 2, 4) read: 4 cosines, 4 sines; scale (rows, H) read if NORM: s
//   of the forward pass; previous read if SHIFT; dx (rows, H, D) write.
// If SHIFT, the gradients of the shifted quarters come from the rows whose `previous` is this row: itself or
//   the next.
// Grid, HEAD_LANES and NUM_KEPT: as in qk_norm_rope_forward.wgsl.
// Numerics: f32. Limits: D = head_dim is a multiple of 8, or of 16 if SHIFT; rows of `previous`: num_rows.
struct Params { num_heads_total: u32, num_heads: u32, head_dim: u32, sequence_length: u32, first_shifted: u32,
  num_rows: u32 }

override NORM: bool = true;
override SHIFT: bool = false;
override HEAD_LANES: u32 = 1u;
override NUM_KEPT: u32 = 1u;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(3) var<storage, read> dy: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(5) var<storage, read> previous: array<u32>;
@group(0) @binding(6) var<uniform> params: Params;

// Dims 4 i onwards and D / 2 + 4 i onwards of a head, which a rotation mixes.
struct Pair { first: vec4f, second: vec4f }

fn x_pair(at: u32) -> Pair {
  if (!NORM) { return Pair(vec4f(0), vec4f(0)); }
  return Pair(x[at], x[at + params.head_dim / 8u]);
}

// The rows that contribute to the gradient of a head's shifted quarters: its own, the next.
struct Users { own: bool, next: bool }

fn users_of(head: u32) -> Users {
  if (!SHIFT || head < params.first_shifted) { return Users(true, false); }
  let row = (head - params.first_shifted) / params.num_heads;
  let next = min(row + 1u, params.num_rows - 1u);
  return Users(previous[row] == row, next > row && previous[next] == row);
}

// The gradient with respect to the normalised x, at pair i.
fn dz_pair(first: u32, i: u32, table: u32, users: Users) -> Pair {
  let half = params.head_dim / 8u;
  let is_shifted = SHIFT && i >= half / 2u;
  let at = first + i;
  var d = Pair(vec4f(0), vec4f(0));
  if (!is_shifted || users.own) { d = Pair(dy[at], dy[at + half]); }
  if (is_shifted && users.next) {
    let next = at + params.num_heads * half * 2u;
    d = Pair(d.first + dy[next], d.second + dy[next + half]);
  }
  let cosine = rotation[table + 2u * i];
  let sine = rotation[table + 2u * i + 1u];
  return Pair(d.first * cosine + d.second * sine, d.second * cosine - d.first * sine);
}

fn dot_pairs(a: Pair, b: Pair) -> f32 {
  return dot(a.first, b.first) + dot(a.second, b.second);
}

fn store_dx(at: u32, of_x: Pair, of_dz: Pair, s: f32, slope: f32) {
  dx[at] = (of_dz.first - of_x.first * slope) * s;
  dx[at + params.head_dim / 8u] = (of_dz.second - of_x.second * slope) * s;
}

@compute @workgroup_size(GROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let at = ((group.y * groups.x + group.x) * GROUP_SIZE + thread) / HEAD_LANES;
  // Lanes without a head take part in the sums.
  let head = min(at, params.num_heads_total - 1u);
  let num_pairs = params.head_dim / 8u;
  let start = thread % HEAD_LANES;
  let first = head * 2u * num_pairs;
  let table = head / params.num_heads % params.sequence_length * 2u * num_pairs;
  let users = users_of(head);
  var s = 1f;
  if (NORM) { s = scale[head]; }
  var kept_x = array<Pair, max(1u, NUM_KEPT)>();
  var kept_dz = array<Pair, max(1u, NUM_KEPT)>();
  for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
    let i = min(start + k * HEAD_LANES, num_pairs - 1u);
    kept_x[k] = x_pair(first + i);
    kept_dz[k] = dz_pair(first, i, table, users);
  }
  var slope = 0f;
  if (NORM) {
    var sum = 0f;
    for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
      if (start + k * HEAD_LANES < num_pairs) { sum += dot_pairs(kept_x[k], kept_dz[k]); }
    }
    for (var i = start + NUM_KEPT * HEAD_LANES; i < num_pairs; i += HEAD_LANES) {
      sum += dot_pairs(x_pair(first + i), dz_pair(first, i, table, users));
    }
    slope = part_sum(sum, thread % LANES, HEAD_LANES) / f32(params.head_dim) * s * s;
  }
  if (at >= params.num_heads_total) { return; }
  for (var k = 0u; k < NUM_KEPT; k++) { // unrolled
    let i = start + k * HEAD_LANES;
    if (i < num_pairs) { store_dx(first + i, kept_x[k], kept_dz[k], s, slope); }
  }
  for (var i = start + NUM_KEPT * HEAD_LANES; i < num_pairs; i += HEAD_LANES) {
    store_dx(first + i, x_pair(first + i), dz_pair(first, i, table, users), s, slope);
  }
}
