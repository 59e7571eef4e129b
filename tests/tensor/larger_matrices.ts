/**
 * The text of a kernel for matrix units of 8 rows, in which it sees units of 16 rows and subgroups of 32 lanes.
 *
 * @module
 */
import { withoutComments } from "../../lib/tensor/kernels.ts";

/** The four parts of a matrix of 16 rows. */
const PARTS = [[0, 0], [0, 1], [1, 0], [1, 1]];

/**
 * A kernel for the sizes of NVIDIA's units, whose indices lavapipe's units then check: each matrix of 16 x 16 is four of 8 x
 * 8, and each subgroup of 32 lanes is four of 8 lanes, which all compute the same.
 *
 * @param source A kernel whose matrices lie in `tile`, an array of words of 16 bytes, and whose entry point has `subgroup`
 *   as its last parameter.
 */
export function withLargerMatrices(source: string): string {
  const text = withoutComments(source)
    .replace("(subgroup_id) subgroup: u32) {", "(subgroup_id) part: u32) { let subgroup = part / 4u;")
    .replaceAll("subgroupMatrixMultiplyAccumulate(", "multiply_16(")
    .replaceAll("subgroupMatrixStore<row_major>(&tile,", "store_16(")
    .replace(/subgroupMatrixLoad<(\w+), (\w+)>\(&tile,/g, "load_$1_$2(")
    .replace(/\b(MATRIX|LANES|Left|Right|Sum)\b/g, "$1_16");
  const structs = ["Left", "Right", "Sum"].map((type) =>
    `struct ${type}_16 { m00: ${type}, m01: ${type}, m10: ${type}, m11: ${type} }\n`
  );
  const loads = [["Left", "row_major"], ["Right", "row_major"], ["Right", "col_major"], ["Sum", "row_major"]]
    .map(
      ([type, order]) => {
        const parts = PARTS.map(([row, column]) => {
          const [major, minor] = order === "col_major" ? [column, row] : [row, column];
          return `subgroupMatrixLoad<${type}, ${order}>(&tile, ${
            placeOf(major, minor, type === "Sum")
          }, stride)`;
        });
        return `fn load_${type}_${order}(at: u32, stride: u32) -> ${type}_16 { return ${type}_16(${parts}); }\n`;
      },
    );
  const products = PARTS.map(([i, j]) =>
    [0, 1].reduce(
      (sum, k) => `subgroupMatrixMultiplyAccumulate(x.m${i}${k}, y.m${k}${j}, ${sum})`,
      `z.m${i}${j}`,
    )
  );
  const stores = PARTS.map(([i, j]) =>
    `subgroupMatrixStore<row_major>(&tile, ${placeOf(i, j, true)}, x.m${i}${j}, stride);`
  );
  return `${text}
const MATRIX_16 = 16u;
const LANES_16 = 32u;
${structs.join("")}${loads.join("")}fn multiply_16(x: Left_16, y: Right_16, z: Sum_16) -> Sum_16 {
  return Sum_16(${products});
}
fn store_16(at: u32, x: Sum_16, stride: u32) { ${stores.join(" ")} }
`;
}

/** Where a part of a matrix begins; a word has 8 elements, of sums 4. */
function placeOf(major: number, minor: number, isSum: boolean): string {
  return `at + ${8 * major}u * stride + ${minor * (isSum ? 2 : 1)}u`;
}
