// Loss and gradient of softcapped logits, nothing of the softmax stored: with z = s tanh(l / s) (z = l where s is 0),
//   loss = log(sum exp z) - z[target], d loss / d l = (softmax(z) - onehot(target)) (1 - (z / s)^2).
// Source: Gemma 2 report, 2024, section 2 (soft-capping); Milakov and Gimelshein, Online normalizer calculation, 2018.
// Bindings: logits (rows, stride) read; targets (rows), loss_mask (rows) read; weight (1) read: d total / d loss;
//   losses (rows) write: 0 where loss_mask is 0; d_logits (rows, stride) write, if GRADIENT: 0 there and beyond vocab_size.
// Grid: one workgroup of LANES lanes per row. Numerics: f32; the largest logit is taken off before exp.
// Limits: stride % 4 == 0, vocab_size <= stride.
struct Params { rows: u32, stride: u32, vocab_size: u32, softcap: f32 }

override GRADIENT: bool = true;

@group(0) @binding(0) var<storage, read> logits: array<vec4f>;
@group(0) @binding(1) var<storage, read> targets: array<u32>;
@group(0) @binding(2) var<storage, read> loss_mask: array<u32>;
@group(0) @binding(3) var<storage, read> weight: array<f32>;
@group(0) @binding(4) var<storage, read_write> losses: array<f32>;
@group(0) @binding(5) var<storage, read_write> d_logits: array<vec4f>;
@group(0) @binding(6) var<uniform> params: Params;

const LOWEST = -1e30f;

// z, and LOWEST in the columns beyond the vocabulary. Beyond |l / s| = 15 tanh is 1 in f32.
fn capped(logit: vec4f, column: u32) -> vec4f {
  var z = logit;
  if (params.softcap > 0f) { z = params.softcap * tanh(clamp(logit / params.softcap, vec4f(-15f), vec4f(15f))); }
  return select(vec4f(LOWEST), z, vec4u(column) + vec4u(0u, 1u, 2u, 3u) < vec4u(params.vocab_size));
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let stride4 = params.stride / 4u;
  let base = row * stride4;
  let is_counted = loss_mask[row] != 0u;
  if (!is_counted) {
    if (GRADIENT) {
      for (var i = lane; i < stride4; i += LANES) { d_logits[base + i] = vec4f(); }
    }
    if (lane == 0u) { losses[row] = 0f; }
    return;
  }
  var most = LOWEST;
  var sum = 0f;
  for (var i = lane; i < stride4; i += LANES) {
    let z = capped(logits[base + i], 4u * i);
    let next = max(most, max(max(z.x, z.y), max(z.z, z.w)));
    sum = sum * exp(most - next) + dot(exp(z - next), vec4f(1f));
    most = next;
  }
  let top = lane_max(most, lane);
  let total = lane_sum(sum * exp(most - top), lane);
  let target_column = targets[row];
  if (lane == 0u) {
    let z = capped(logits[base + target_column / 4u], target_column / 4u * 4u);
    losses[row] = log(total) + top - z[target_column % 4u];
  }
  if (GRADIENT) {
    let scale = weight[0];
    for (var i = lane; i < stride4; i += LANES) {
      let z = capped(logits[base + i], 4u * i);
      let hit = select(vec4f(), vec4f(1f), vec4u(4u * i) + vec4u(0u, 1u, 2u, 3u) == vec4u(target_column));
      var slope = vec4f(1f);
      if (params.softcap > 0f) { slope -= (z / params.softcap) * (z / params.softcap); }
      let d = (exp(z - top) / total - hit) * slope * scale;
      d_logits[base + i] = select(vec4f(), d, z > vec4f(LOWEST));
    }
  }
}
