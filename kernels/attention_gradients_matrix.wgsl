// The shared part of attention's backward kernels for matrix units. The two halves of a strip contain scores
// and products of gradients, for two matrices of the tile's rows at a time.
// #include attention_tiles_matrix.wgsl

// Gradients of scores are stored as f16 times 2 to this power. Otherwise small gradients would be below its
// normal range; a larger power would leave less range for the loss scale.
const EXTRA = 4f;
// The factor that undoes it in sums.
const DS_FACTOR = inverseSqrt(f32(HEAD_DIM)) * exp2(-EXTRA);

// Adds the products of own rows with two matrices of the tile's rows, for both tensors, over MATRIX dims.
fn add_products(row: ptr<function, Row>, x: Left, y: Left, at: u32) {
  (*row).c0 = multiply(x, right_columns(at), (*row).c0);
  (*row).c1 = multiply(x, right_columns(at + NEXT_MATRIX), (*row).c1);
  (*row).c2 = multiply(y, right_columns(SECOND + at), (*row).c2);
  (*row).c3 = multiply(y, right_columns(SECOND + at + NEXT_MATRIX), (*row).c3);
}

fn products_of(x: Lefts, y: Lefts, at: u32) -> Row {
  var row = Row(Sum(), Sum(), Sum(), Sum());
  add_products(&row, x.x0, y.x0, at);
  add_products(&row, x.x1, y.x1, at + MATRIX8);
  add_products(&row, x.x2, y.x2, at + 2u * MATRIX8);
  add_products(&row, x.x3, y.x3, at + 3u * MATRIX8);
  if (HEAD_MATRICES == 8u) {
    add_products(&row, x.x4, y.x4, at + 4u * MATRIX8);
    add_products(&row, x.x5, y.x5, at + 5u * MATRIX8);
    add_products(&row, x.x6, y.x6, at + 6u * MATRIX8);
    add_products(&row, x.x7, y.x7, at + 7u * MATRIX8);
  }
  return row;
}

// A part's words, which replace the vec4 that its lane has read; not finite if a number is beyond f16's range
// (see pack_half in registry.ts).
fn put_words(lane: Lane, pair: u32, p: Part) {
  let at = lane.part_at - 2u * lane.row_lane + pair * NEXT_PAIR + 1u + lane.row_lane;
  let beyond = vec4u(select(0u, 0x7c007c00u, largest_bits(p) > bitcast<u32>(65504f)));
  tile[at] = halves(p.x0, p.x1, lane) | beyond;
  tile[at + MATRIX4] = halves(p.x2, p.x3, lane) | beyond;
}

fn largest_bits(p: Part) -> u32 {
  let x = max(max(bits_of(p.x0), bits_of(p.x1)), max(bits_of(p.x2), bits_of(p.x3)));
  return max(max(x.x, x.y), max(x.z, x.w));
}

fn bits_of(x: vec4f) -> vec4u { return bitcast<vec4u>(x) & vec4u(0x7fffffffu); }

// Matrix i of the words stored by put_words.
fn words_left(strip: u32, pair: u32, i: u32) -> Left {
  return subgroupMatrixLoad<Left, row_major>(&tile, strip + pair * NEXT_PAIR + 1u + i * MATRIX4, STRIP_ROW);
}
