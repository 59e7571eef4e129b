import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { branchRows, NO_TOKEN, type RowBranches } from "../../lib/query/decoder_rows.ts";

/** Tokens of a row, followed up to the row of a prompt. */
function pathOf(steps: readonly RowBranches[], row: number): { prompt: number; tokens: number[] } {
  const tokens: number[] = [];
  for (const step of steps.toReversed()) {
    tokens.unshift(step.tokens[row]);
    row = step.parents[row];
  }
  return { prompt: row, tokens };
}

Deno.test("branchRows() gives every path a row with its tokens, and paths that are the same one row", () => {
  const path = fc.record({
    prompt: fc.nat({ max: 2 }),
    tokens: fc.array(fc.constantFrom(0, 1, 255, 65535), { maxLength: 4 }),
  });
  fc.assert(fc.property(fc.array(path, { minLength: 1, maxLength: 12 }), (paths) => {
    const steps: RowBranches[] = [];
    let rows: Uint32Array = Uint32Array.from(paths, ({ prompt }) => prompt);
    for (let depth = 0; depth < 4; depth++) {
      const step = branchRows(rows, paths.map(({ tokens }) => tokens[depth] ?? NO_TOKEN));
      steps.push(step);
      rows = step.rows;
      assert(step.parents.every((parent, i) => i === 0 || step.parents[i - 1] <= parent), `${step.parents}`);
      const going = paths.map(({ prompt, tokens }) => ({ prompt, tokens: tokens.slice(0, depth + 1) }))
        .map((begun, i) => ({ begun, row: rows[i] })).filter(({ begun }) =>
          begun.tokens.length === depth + 1
        );
      for (const { begun, row } of going) assertEquals(pathOf(steps, row), begun);
      assertEquals(step.tokens.length, new Set(going.map(({ begun }) => JSON.stringify(begun))).size);
    }
  }));
});
