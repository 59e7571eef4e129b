/** A small part of `deno task fuzz` with a fixed seed, for every test run. */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { RandomStream } from "../../lib/base/random.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import {
  canEqualProcessNumbers,
  interruptStage,
  prepareTrials,
  readBrokenCopies,
  runTwoAtOnce,
} from "./trials.ts";
import { FORMATS } from "./formats.ts";
import { mutate } from "./mutate.ts";
import { BOUNDS, type Bounds, fuzzFormat } from "./supervise.ts";

const NUM_FILES = 60;

for (const format of FORMATS) {
  Deno.test(`damaged files are rejected with a one-line error, or bad records are counted (${format})`, async () => {
    using folder = new TemporaryFolder();
    const options = { seed: 2026, from: 0, count: NUM_FILES, folder: folder.path };
    const { numCases, counts, faults } = await fuzzFormat(format, options);
    assertEquals(faults, []);
    assertEquals(numCases, NUM_FILES);
    // In CSV only the header affects the whole file; damaged rows are counted.
    const numSeen = format === "csv" ? counts.rejected : counts.error;
    assert(numSeen >= NUM_FILES / 4, `of ${NUM_FILES} files only in ${numSeen} the damage was seen`);
  });
}

Deno.test("checkpoints with forged numbers are rejected with a one-line error or yield possible answers", async () => {
  using folder = new TemporaryFolder();
  const options = { seed: 2026, from: 0, count: NUM_FILES, folder: folder.path };
  const { numCases, counts, faults } = await fuzzFormat("checkpoint", options);
  assertEquals(faults, []);
  assertEquals(numCases, NUM_FILES);
  assert(counts.error >= NUM_FILES / 4 && counts.read > 0, JSON.stringify(counts));
});

/** The faults of two cases that run this code. */
async function faultsOf(code: string, bounds: Bounds): Promise<string[]> {
  using folder = new TemporaryFolder();
  const worker = folder.at("worker.ts");
  Deno.writeTextFileSync(worker, `console.log(JSON.stringify({ index: Number(Deno.args[2]) }));${code}`);
  const options = { seed: 0, from: 3, count: 2, folder: folder.path, bounds, worker };
  const { faults } = await fuzzFormat("json", options);
  assertEquals(faults.map(({ index }) => index), [3, 4]);
  return faults.map(({ message }) => message);
}

Deno.test("fuzzFormat() stops a reader that takes too long, and continues", async () => {
  const hanging = await faultsOf("while (true);", { seconds: 0.5, memoryBytes: 4e9 });
  assertEquals(hanging, new Array(2).fill("it hangs: no end after 0.5 s"));
  const broken = await faultsOf("Deno.exit(3);", BOUNDS);
  assertEquals(broken, new Array(2).fill("the process ended with 3: "));
});

Deno.test("fuzzFormat() stops a reader that uses too much memory, and continues", {
  ignore: Deno.build.os !== "linux",
}, async () => {
  const greedy = "const all = []; while (all.length < 150) all.push(new Uint8Array(1e7).fill(1));";
  const large = await faultsOf(greedy, { ...BOUNDS, memoryBytes: 1e9 });
  for (const message of large) assertStringIncludes(message, "Array buffer allocation failed");
});

Deno.test("mutate() changes a file, reproducibly for a stream", () => {
  const bytes = Uint8Array.from({ length: 3000 }, (_, i) => i);
  const seen = new Set<string>();
  for (let i = 0; i < 200; i++) {
    const first = mutate(bytes, new RandomStream(1, "mutate", i));
    assertNotEquals(first.bytes, bytes);
    assertEquals(mutate(bytes, new RandomStream(1, "mutate", i)), first);
    first.name.split("+").forEach((name) => seen.add(name));
  }
  assertEquals(seen.size, 8);
  assertEquals(bytes[2999], 2999 & 255);
});

Deno.test("trials of stages find no fault (two at once, signals, broken copies, hostile options)", async (t) => {
  using trials = new TemporaryFolder();
  const folder = trials.path;
  await prepareTrials(folder);
  const equalNumbers = await canEqualProcessNumbers();
  if (!equalNumbers) console.log("not run: equal process numbers need unshare(1) and the right to use it");
  for (const stage of ["import", "shard"] as const) {
    await t.step(`two ${stage} at once`, async () => {
      let numRefused = 0;
      // Repeats until two were running at the same time.
      for (let seed = 2026; numRefused === 0; seed++) {
        assert(seed < 2046, "no trial had two at work at the same time");
        const { trials, refused } = await runTwoAtOnce(stage, { folder, count: 4, seed, equalNumbers });
        assertEquals(trials, { same: 2, different: 1, overwrite: 1 });
        numRefused += refused;
      }
    });
  }
  await t.step("signals", async () => {
    const { numTrials } = await interruptStage("probe-rows", { folder, count: 2, seed: 2026 });
    assertEquals(numTrials, 2);
  });
  await t.step("broken copies", async () => {
    const summary = await readBrokenCopies({ folder, count: 9, seed: 2026 });
    assertEquals(Object.values(summary).map(({ refused }) => refused), new Array(9).fill(1));
  });
  await t.step("hostile options, through deno task fuzz", async () => {
    const args = ["task", "--quiet", "fuzz", "hostile-options", "--trials", "2", "--seed", "2026", "--json"];
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
    const [text, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assert(success, errors);
    const { numDone, numRefused, numStopped } = JSON.parse(text)["hostile-options"];
    assertEquals(numDone + numRefused + numStopped, 12);
    assert(numRefused > 0);
  });
});
