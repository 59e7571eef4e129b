// dx of y = rope(norm(x)) for each head, given dy: dz is dy with the inverse rotation, dx = s (dz - x s^2 mean(x dz)),
// or dz if not NORM.
// Source: the derivative of qk_norm_rope_forward.wgsl; a rotation's transpose is its inverse.
// Bindings: x, dy (rows, H, D) read; rotation (T, D / 8, 2, 4) read: 4 cosines, 4 sines; scale (rows, H) read if NORM: s
//   of the forward pass; previous read if SHIFT; dx (rows, H, D) write.
// If SHIFT, the gradients of the shifted quarters came from the rows whose `previous` this one is: itself or the next.
// Grid: ceil(rows * H / 64) workgroups of 64 threads over x and y, a thread per head of a row.
// Numerics: f32. Limits: D = head_dim is a multiple of 8, or of 16 if SHIFT; rows of `previous`: num_rows.
struct Params { num_heads_total: u32, num_heads: u32, head_dim: u32, sequence_length: u32, first_shifted: u32,
  num_rows: u32 }

override NORM: bool = true;
override SHIFT: bool = false;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(3) var<storage, read> dy: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(5) var<storage, read> previous: array<u32>;
@group(0) @binding(6) var<uniform> params: Params;

// Dims 4 i onwards and D / 2 + 4 i onwards of a head, which a rotation turns into one another.
struct Pair { first: vec4f, second: vec4f }

// Pairs that stay in registers between the sum and the result: all for D <= 32; those beyond are read twice.
const NUM_KEPT = 4u;

fn x_pair(at: u32) -> Pair {
  if (!NORM) { return Pair(vec4f(0), vec4f(0)); }
  return Pair(x[at], x[at + params.head_dim / 8u]);
}

// The rows whose gradients a head's shifted quarters have: its own, the next.
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

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let head = (group.y * groups.x + group.x) * 64u + thread;
  if (head >= params.num_heads_total) { return; }
  let first = head * (params.head_dim / 4u);
  let num_pairs = params.head_dim / 8u;
  let table = head / params.num_heads % params.sequence_length * (params.head_dim / 4u);
  let users = users_of(head);
  var kept_x: array<Pair, NUM_KEPT>;
  var kept_dz: array<Pair, NUM_KEPT>;
  var sum = 0f;
  for (var i = 0u; i < NUM_KEPT; i++) {
    if (i < num_pairs) {
      kept_x[i] = x_pair(first + i);
      kept_dz[i] = dz_pair(first, i, table, users);
      sum += dot_pairs(kept_x[i], kept_dz[i]);
    }
  }
  var s = 1f;
  var slope = 0f;
  if (NORM) {
    for (var i = NUM_KEPT; i < num_pairs; i++) {
      sum += dot_pairs(x_pair(first + i), dz_pair(first, i, table, users));
    }
    s = scale[head];
    slope = sum / f32(params.head_dim) * s * s;
  }
  for (var i = 0u; i < NUM_KEPT; i++) {
    if (i < num_pairs) { store_dx(first + i, kept_x[i], kept_dz[i], s, slope); }
  }
  for (var i = NUM_KEPT; i < num_pairs; i++) {
    store_dx(first + i, x_pair(first + i), dz_pair(first, i, table, users), s, slope);
  }
}
