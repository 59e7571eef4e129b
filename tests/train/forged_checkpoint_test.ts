/**
 * Checkpoints with impossible numbers and valid checksums: all files except the pool, which
 * tests/model/tensor_bounds_test.ts covers.
 */
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { basename } from "@std/path";
import { FormatError, named } from "../../lib/base/errors.ts";
import { Gpu } from "../../lib/tensor/device.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import { loadCheckpoint, loadResumable } from "../../lib/train/checkpoint.ts";
import {
  askForged,
  type Forgery,
  targetsOf,
  type Whole,
  withForged,
  writeWhole,
} from "../fuzz/forged_checkpoints.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

/** What to change: an index into a tensor ("all": every number) or a JSON key, and the new value. */
type Change = readonly [name: string, first: number | "all", value: number];

/** Changes a file, uses the checkpoint and reverts the change. */
type Forge = (file: string, change: Change, use: (forged: Forgery) => unknown) => Promise<unknown>;

async function withWhole(test: (whole: Whole, forge: Forge) => Promise<void>): Promise<void> {
  using folder = new TemporaryFolder();
  const whole = await writeWhole(folder.path);
  const targets = new Map(
    targetsOf(whole).map((target) => [`${basename(target.file)} ${target.name}`, target]),
  );
  await test(whole, (file, [name, first, value], use) => {
    const target = named(targets, `${file} ${name}`);
    const place = first === "all" ? { first: 0, count: target.length } : { first, count: 1 };
    const forged = { ...target, ...place, step: 1, value };
    return withForged(whole, forged, () => use(forged));
  });
}

const IMPOSSIBLE: Record<string, readonly (readonly [...Change, fault: string])[]> = {
  "model.safetensors": [
    [
      "address_embed.history",
      8,
      5000,
      "element 8 of tensor address_embed.history is 5000, expected 0 or an RTT code",
    ],
    ["address_embed.history", 8, 2049, "is 2049, expected 0 or an RTT code"],
    [
      "address_embed.history",
      9,
      7,
      "element 9 of tensor address_embed.history is 7, expected 0 or a time from 1990",
    ],
    ["coordinates.nodes", 3, 0.5, "is 0.5, expected a whole number from -33 to 31"],
    ["coordinates.nodes", 32, -1, "element 32 of tensor coordinates.nodes is -1, expected a number from 0"],
    ["coordinates.fits", 1, 60, "expected minimum, typical and maximum logarithm in this order"],
    ["coordinates.fits", 5, 0, "element 5 of tensor coordinates.fits is 0, expected a number above 0"],
    ["places.table", 0, 255, "the table of places is damaged"],
    ["places.table", "all", 9, "the table of places is damaged"],
  ],
  "optimizer.safetensors": [
    [
      "wte.weight.exp_avg_sq",
      4,
      -1,
      "element 4 of tensor wte.weight.exp_avg_sq is -1, expected a number of at least 0",
    ],
  ],
  "training_data.safetensors": [
    ["v4", 1, 0, "element 1 of tensor v4 is 0, expected rows in ascending order"],
    ["seen", 0, 9, "element 0 of tensor seen is 9, expected 0, the sum of its pairs"],
    ["seen", 1, 65535, "expected 0 or a time from 1700000000 to 1700001800"],
    ["pairs", 101, 99, "element 101 of tensor pairs is 99, expected below 12"],
    ["pairs", "all", 0, "of tensor pairs is 0, expected rows in ascending order"],
    ["summary startS", 0, 0.5, "its summary: found startS 0.5, expected at least 631152000"],
    [
      "summary endS",
      0,
      1e9,
      "its summary covers 1700000000 to 1000000000 s, expected a start before the end",
    ],
    [
      "summary measurements",
      0,
      8_589_803_518,
      "the counts of tensor seen add up to 104, expected 8589803518",
    ],
    ["summary sources", 0, 1, "tensor seen has 6 sources, expected 1"],
    ["summary destinations", 0, -1, "its summary: found destinations -1, expected at least 0"],
  ],
  "rows.safetensors": [
    [
      "address_embed.rows",
      0,
      65536,
      "element 0 of tensor address_embed.rows is 65536, expected numbers below",
    ],
    ["address_embed.rows", "all", 0, "element 1 of tensor address_embed.rows is 0, expected numbers below"],
    ["address_embed.history", 8, 5000, "expected 0 or an RTT code"],
    [
      "coordinates.numbers",
      0,
      99,
      "element 0 of tensor coordinates.numbers is 99, expected numbers below 32",
    ],
    ["coordinates.values", 9, 0.5, "is 0.5, expected a whole number from -33 to 31"],
    ["coordinates.values", 10, -1, "element 10 of tensor coordinates.values is -1, expected a number from 0"],
    ["adaptation.seen", 0, 9, "element 0 of tensor adaptation.seen is 9"],
    ["adaptation.summary measurements", 0, 1.5, "its adaptation.summary: found measurements 1.5"],
  ],
  "state.json": [
    ["step", 0, -1, "found step -1, expected at least 0"],
    ["position.block", 0, -1, "found position.block -1, expected at least 0"],
    ["position.blockRows", 0, 0, "found position.blockRows 0, expected at least 1"],
    ["numSkippedSteps", 0, 4, "found numSkippedSteps 4, expected at most the total number of steps"],
    ["numSkippedInRow", 0, 1, "found numSkippedInRow 1, expected at most the total number of steps"],
    ["files.model.sizeBytes", 0, 0.5, "found files.model.sizeBytes 0.5, expected an integer"],
  ],
};

for (const [file, changes] of Object.entries(IMPOSSIBLE)) {
  Deno.test(`impossible numbers in ${file} are rejected with their location`, () =>
    withWhole(async ({ run, adapted }, forge) => {
      const load = () => file === "rows.safetensors" ? loadCheckpoint(adapted) : loadResumable(run);
      load();
      for (const [name, first, value, fault] of changes) {
        const { message } = await assertRejects(
          () => forge(file, [name, first, value], load),
          FormatError,
          undefined,
          `${name} ${first} = ${value}`,
        );
        assertMatch(message, /^Cannot read [^\n]+$/);
        assertStringIncludes(message, `/${file}`);
        assertStringIncludes(message, fault);
      }
      load();
    }));
}

Deno.test("a checkpoint with extreme but possible numbers yields possible answers", () =>
  withWhole(async (whole, forge) => {
    using gpu = await Gpu.open();
    const registry = new KernelRegistry(gpu);
    const changes: [file: string, change: Change][] = [
      ["model.safetensors", ["coordinates.vectors", "all", 1e9]],
      ["model.safetensors", ["coordinates.fits", "all", 0]],
      ["pool.safetensors", ["pool.factors", 0, 1e9]],
      ["pool.safetensors", ["pool.regression", "all", 0.5]],
      ["pool.safetensors", ["pool.failure_weights", "all", 0]],
    ];
    for (const [file, change] of changes) {
      const faults = await forge(file, change, (forged) => askForged(whole, forged, registry));
      assertEquals(faults, [], `${file} ${change}`);
    }
  }));
