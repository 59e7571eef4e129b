// Limits the distance of a table's rows from their anchors: for row r < params.rows, d = table[r, :] -
//   anchors[r, :]; if |d| > limits[r], table[r, :] = anchors[r, :] + d limits[r] / |d|.
// Bindings: anchors (rows, width) read; limits (rows) read; table (rows, width) read and write.
// Grid: one workgroup of LANES lanes per row. Numerics: f32; sum of squares per lane, then over lanes.
// Limits: width % 4 == 0.
struct Params { rows: u32, width: u32 }

@group(0) @binding(0) var<storage, read> anchors: array<vec4f>;
@group(0) @binding(1) var<storage, read> limits: array<f32>;
@group(0) @binding(2) var<storage, read_write> table: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  let base = row * width4;
  var sum = 0f;
  for (var i = lane; i < width4; i += LANES) {
    let d = table[base + i] - anchors[base + i];
    sum += dot(d, d);
  }
  let distance = sqrt(lane_sum(sum, lane));
  let limit = limits[row];
  if (distance <= limit) { return; }
  for (var i = lane; i < width4; i += LANES) {
    table[base + i] = anchors[base + i] + (table[base + i] - anchors[base + i]) * (limit / distance);
  }
}
