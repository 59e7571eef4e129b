/** A small part of `deno task fuzz` with a fixed seed, for every test run. */
import { assert, assertEquals } from "@std/assert";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import {
  canEqualProcessNumbers,
  interruptStage,
  prepareTrials,
  readBrokenCopies,
  runTwoAtOnce,
} from "./trials.ts";
import { FORMATS } from "./formats.ts";
import { fuzzFormat } from "./supervise.ts";

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
