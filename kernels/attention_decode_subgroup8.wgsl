// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to
// the keys of its prompt up to a row-specific end (the prompt's keys are stored once) and to the keys of its
// suffix so far.
// Source: as attention_forward_subgroup8.wgsl; the shared prefix as in Juravsky et al., Hydragen:
// High-Throughput LLM Inference with Shared Prefixes, 2024. For adapters whose subgroups have exactly 8 lanes
// (lavapipe): each lane owns whole rows; the prompt's keys are distributed among lanes
// (attention_slots_subgroup8.wgsl, attention_softmax_subgroup8.wgsl), the keys of a row's suffix are not.
// Bindings: q (N, H, D) read; k, v (P, H, D) read; suffix_k, suffix_v (M, H, D) read: keys that rows
//   appended; row_keys (1 + S, N) read: the exclusive end of the prompt's keys for each row, then the index
//   of the row's key at each step, the newest last; tiles (x) read: rows of one prompt as (first key, end of
//   the keys of all its rows, first row, end of the rows), with exclusive ends; out (N, H, D) write.
// Grid: x = tiles, y = H; one subgroup per tile; row n of lane l is 8 n + l of the tile; a tile without rows
//   is skipped.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; a tile has at most 1024 / D rows and each row sees at least one of its keys; S >= num_steps.
// #include attention_slots_subgroup8.wgsl
// #include attention_softmax_subgroup8.wgsl
struct Params { num_rows: u32, num_heads: u32, num_steps: u32, slot_parts: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> suffix_k: array<vec4f>;
@group(0) @binding(4) var<storage, read> suffix_v: array<vec4f>;
@group(0) @binding(5) var<storage, read> row_keys: array<u32>;
@group(0) @binding(6) var<storage, read> tiles: array<vec4u>;
@group(0) @binding(7) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(8) var<uniform> params: Params;

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let rows = tiles[group.x];
  if (rows.z >= rows.w) { return; }
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let head0 = group.y * (HEAD_DIM / 4u);
  // The row of each slot. Past the tile's end the last row is repeated, and not stored.
  let wanted = rows.z + lane + 8u * (vec4u(0u, 1u, 2u, 3u) / SLICES);
  let row = min(wanted, vec4u(rows.w - 1u));
  let ends = vec4u(row_keys[row.x], row_keys[row.y], row_keys[row.z], row_keys[row.w]);
  let at = head0 + row * stride;
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  var own = Slots();
  for (var i = 0u; i < params.slot_parts; i++) {
    own.part[i] = q[at[i / 8u] + i % (SLICES * 8u)] * scale;
  }
  var sum = Slots();
  var softmax = Softmax(array(MASKED, MASKED, MASKED, MASKED), array(0f, 0f, 0f, 0f));
  for (var key = rows.x; key < rows.y; key++) {
    let source = head0 + key * stride + lane;
    var other = Row();
    load_key(0u, source, &other);
    load_key(1u, source, &other);
    load_key(2u, source, &other);
    load_key(3u, source, &other);
    var s = score(&own, &other);
    var keep = Scores();
    weight(0u, key < ends.x, &s, &softmax, &keep);
    weight(1u, key < ends[SLICES % 4u], &s, &softmax, &keep);
    weight(2u, key < ends[2u * SLICES % 4u], &s, &softmax, &keep);
    weight(3u, key < ends[3u * SLICES % 4u], &s, &softmax, &keep);
    load_value(0u, source, &other);
    load_value(1u, source, &other);
    load_value(2u, source, &other);
    load_value(3u, source, &other);
    weigh(&keep, &s, &other, &sum);
  }
  var result = sum;
  for (var step = 0u; step < params.num_steps; step++) {
    let of_step = row + (1u + step) * params.num_rows;
    let suffix = head0 + stride * vec4u(
      row_keys[of_step.x], row_keys[of_step.y], row_keys[of_step.z], row_keys[of_step.w]);
    var scores = array<f32, 4>();
    for (var i = 0u; i < params.slot_parts; i++) {
      scores[i / (SLICES * 8u)] += dot(own.part[i], suffix_k[suffix[i / 8u] + i % (SLICES * 8u)]);
    }
    var shrink = array<f32, 4>();
    var weight = array<f32, 4>();
    for (var n = 0u; n < params.slot_parts / (SLICES * 8u); n++) {
      let largest = max(softmax.largest[n], scores[n]);
      shrink[n] = exp2(softmax.largest[n] - largest);
      weight[n] = exp2(scores[n] - largest);
      softmax.largest[n] = largest;
      softmax.sum[n] = fma(softmax.sum[n], shrink[n], weight[n]);
    }
    for (var i = 0u; i < params.slot_parts; i++) {
      let n = i / (SLICES * 8u);
      let value = suffix_v[suffix[i / 8u] + i % (SLICES * 8u)];
      result.part[i] = fma(vec4f(weight[n]), value, result.part[i] * shrink[n]);
    }
  }
  for (var i = 0u; i < params.slot_parts; i++) {
    if (wanted[i / 8u] < rows.w) {
      out[at[i / 8u] + i % (SLICES * 8u)] = result.part[i] / softmax.sum[i / (SLICES * 8u)];
    }
  }
}
