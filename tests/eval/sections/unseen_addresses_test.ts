import fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import type { EvalCase } from "../../../lib/eval/cases.ts";
import { drawUnseen, unseenAddresses, type UnseenCases } from "../../../lib/eval/sections/adapt_section.ts";
import { meshRow, meshRows } from "./mesh_rows.ts";
import { MemoryRowSource } from "../../data/loader/memory_rows.ts";

const KNOWN = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
const NEW = ["198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4", "198.51.100.5"];
const training = meshRows({ sources: KNOWN, destinations: KNOWN, numEach: 5, seed: 1 });

const nameOf = ({ srcAddr, dstAddr, measurement }: EvalCase) => `${srcAddr} ${dstAddr} ${measurement.timeS}`;

function heldOutOf(seed: number): MemoryRowSource {
  const all = [...KNOWN, ...NEW];
  return meshRows({ sources: all, destinations: all, numEach: 12, seed, failed: 0.2 });
}

Deno.test("drawUnseen() gives the same measurements of each address first, and judges by none of them", () =>
  fc.assert(
    fc.asyncProperty(
      fc.record({
        seed: fc.nat(1e6),
        maxGiven: fc.integer({ min: 0, max: 8 }),
        maxAddresses: fc.integer({ min: 1, max: 6 }),
        maxJudged: fc.integer({ min: 1, max: 40 }),
      }),
      async ({ seed, maxGiven, ...most }) => {
        const rows = heldOutOf(seed % 7);
        const unseen = await unseenAddresses([rows], training);
        assertEquals([...unseen].sort(), NEW);
        const drawn = await drawUnseen(rows, unseen, { ...most, maxGiven, seed });
        assertEquals(await drawUnseen(rows, unseen, { ...most, maxGiven, seed }), drawn, "the same again");
        const { addresses, given, judged, addressOf } = drawn;
        assert(addresses.length <= most.maxAddresses && judged.length <= most.maxJudged);
        assertEquals([given.length, addressOf.length], [addresses.length, judged.length]);
        const names = [...given.flat(), ...judged].map(nameOf);
        assertEquals(new Set(names).size, names.length, "no measurement twice, given or judged");
        given.forEach((of, i) => {
          assertEquals(of.length, maxGiven);
          of.forEach((each) => assertIsOf(each, addresses[i]));
        });
        judged.forEach((each, i) => assertIsOf(each, addresses[addressOf[i]]));
        assertEquals(new Set(addressOf).size, addresses.length, "each is judged");
        await assertNested(drawn, (fewer) => drawUnseen(rows, unseen, { ...most, maxGiven: fewer, seed }));
      },
    ),
    { numRuns: 40 },
  ));

/** The end that training never met is the address, the other is known, and there is a reply. */
function assertIsOf({ srcAddr, dstAddr, rttMs, history }: EvalCase, address: string): void {
  const other = srcAddr === address ? dstAddr : srcAddr;
  assert([srcAddr, dstAddr].includes(address) && KNOWN.includes(other) && rttMs !== null);
  assertEquals(history, []);
}

async function assertNested(
  { addresses, given }: UnseenCases,
  draw: (maxGiven: number) => Promise<UnseenCases>,
): Promise<void> {
  const fewer = await draw(Math.floor((given[0]?.length ?? 0) / 2));
  fewer.addresses.forEach((address, i) => {
    const more = given[addresses.indexOf(address)];
    if (more) assertEquals(fewer.given[i].map(nameOf), more.slice(0, fewer.given[i].length).map(nameOf));
  });
}

Deno.test("unseenAddresses() knows an address at either end and however it is written", async () => {
  const known = new MemoryRowSource([meshRow("2001:db8::1", [["2001:DB8:0::2", 5, 1]])]);
  const rows = new MemoryRowSource([
    meshRow("2001:0db8::2", [["2001:db8::1", 5, 2], ["2001:db8::A", 6, 3], ["2001:db8::a", 7, 4]]),
  ]);
  const unseen = await unseenAddresses([rows], known);
  assertEquals([...unseen], ["2001:db8::a"]);
  const options = { maxGiven: 1, maxAddresses: 9, maxJudged: 9, seed: 1 };
  const { given, judged } = await drawUnseen(rows, unseen, options);
  assertEquals([given[0].length, judged.length], [1, 1]);
});

Deno.test("drawUnseen() leaves out addresses with too few replies, and says how many", async () => {
  const rows = new MemoryRowSource([
    meshRow(NEW[0], [[KNOWN[0], 5, 1], [KNOWN[1], 6, 2], [KNOWN[2], 7, 3]]),
    meshRow(NEW[1], [[KNOWN[0], 5, 4], [KNOWN[1], -1, 5], [KNOWN[2], 7, 6]]),
    meshRow(NEW[2], [[NEW[0], 5, 7], [NEW[1], 5, 8]]),
  ]);
  const options = { maxAddresses: 9, maxJudged: 9, seed: 1 };
  const unseen = await unseenAddresses([rows], training);
  const drawn = await drawUnseen(rows, unseen, { ...options, maxGiven: 2 });
  assertEquals([drawn.numUnseen, drawn.numUsable, drawn.addresses], [2, 1, [NEW[0]]]);
  assertEquals([drawn.given[0].length, drawn.judged.length], [2, 1]);
  const none = await drawUnseen(rows, unseen, { ...options, maxGiven: 3 });
  assertEquals([none.numUnseen, none.numUsable, none.addresses, none.judged], [2, 0, [], []]);
});
