import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import {
  changesOf,
  crossValidate,
  describeChanges,
  drawSetting,
  listSeries,
  medianAgreement,
  readSeries,
} from "../../../lib/cli/bench/changes.ts";
import { medianOf } from "../../../lib/base/sample_statistics.ts";
import { UserError } from "../../../lib/base/errors.ts";
import { openInput } from "../../../lib/io/compression/decompress.ts";
import { exists } from "../../../lib/io/files/inputs.ts";
import { DEFAULT_CHANGE_OPTIONS } from "../../../lib/query/changes/change_detector.ts";

const MARKED = "tests/data/changes/17783.csv.gz";
/** The visible half of the marked series, next to the repository. */
const SHOWN = "../shared/data/changes";
const isShown = exists(SHOWN);
if (!isShown) console.warn(`${SHOWN} is missing: the agreement with people is not tested on all series`);

async function seriesFile(text: string): Promise<string> {
  const path = await Deno.makeTempFile({ suffix: ".csv" });
  await Deno.writeTextFile(path, text);
  return path;
}

Deno.test("readSeries() reads losses, decimal commas and marks", async () => {
  const path = await seriesFile(
    'epoch;"rtt";cp\r\n14/10/2016 21:17;178,5;0\r\n2016-10-14 21:21:00;-3;1\r\n;;0\r\n0;17;1\r\n',
  );
  const { rttsMs, marks } = await readSeries(path);
  assertEquals([...rttsMs], [178.5, NaN, NaN, 17]);
  assertEquals(marks, [1, 3]);
});

Deno.test("a series without marks has no agreement", async () => {
  const path = await seriesFile("epoch;rtt\n1;20\n2;21\n");
  const changes = changesOf(await readSeries(path), {});
  assertEquals(changes.agreement, undefined);
  assertEquals(describeChanges([changes]), "1 series, 0 changes; no file has labels in a column cp");
});

Deno.test("the marks do not affect the detections", async () => {
  const { chunks } = await openInput(MARKED);
  let text = "";
  for await (const chunk of chunks) text += new TextDecoder().decode(chunk);
  const path = await seriesFile(text.replaceAll(/;[01](?=\r?\n)/g, ";0"));
  const unmarked = changesOf(await readSeries(path), {});
  const marked = changesOf(await readSeries(MARKED), {});
  assertEquals(unmarked.detections, marked.detections);
  assertEquals(unmarked.agreement?.numMatched, 0);
});

Deno.test("an RTT that is not a number is reported with its row", async () => {
  const path = await seriesFile("epoch;rtt;cp\n1;20;0\n2;fast;0\n");
  await assertRejects(
    () => readSeries(path),
    UserError,
    'the RTT of row 1 is "fast", expected a number',
  );
  const other = await seriesFile("time,rtt_ms\n");
  await assertRejects(() => readSeries(other), UserError, "expected column names including rtt");
});

Deno.test("most changes marked by people are detected", async () => {
  const { numRows, agreement } = changesOf(await readSeries(MARKED), {});
  assertEquals(numRows, 1646);
  assert(agreement && agreement.f2 >= 0.85);
});

Deno.test({
  name: "the median reporting delay on the shown series is 5 rows, without loss of agreement",
  ignore: !isShown,
  async fn() {
    const series = await Promise.all(listSeries([SHOWN]).map(readSeries));
    const changes = series.map((each) => changesOf(each, {}));
    const f2Of = (found: typeof changes) =>
      medianAgreement(found.flatMap(({ agreement }) => agreement ?? [])).f2;
    assertEquals(changes.flatMap(({ agreement }) => agreement ?? []).length, 25);
    assert(f2Of(changes) >= 0.83);
    const { delay, maxDelay } = DEFAULT_CHANGE_OPTIONS;
    assert(f2Of(changes) >= f2Of(series.map((each) => changesOf(each, { delay: maxDelay }))));
    assertEquals([delay, medianOf(changes.flatMap(({ delays }) => delays))], [5, 5]);
  },
});

Deno.test("drawSetting() depends on seed and number, and covers every option but the delays", () => {
  const { delay: _, maxDelay: _2, clearMargin: _3, ...others } = DEFAULT_CHANGE_OPTIONS;
  assertEquals(Object.keys(drawSetting(1, 2)).sort(), Object.keys(others).sort());
  assertEquals(drawSetting(1, 2), drawSetting(1, 2));
  assert(drawSetting(1, 2).penalty !== drawSetting(1, 3).penalty);
});

Deno.test("crossValidate() returns the best setting's F2 if one is best everywhere", () => {
  const best = [0.9, 0.8, 0.7, 0.9, 0.8];
  const { mean, range } = crossValidate([best.map((f2) => f2 - 0.3), best, best.map((f2) => f2 / 2)], 5, 0);
  assertAlmostEquals(mean, 0.8);
  assertEquals(range, [0.8, 0.8]);
});

Deno.test("crossValidate() does not choose by the held-out series", () => {
  // Each setting is right on one series only, so the setting chosen on the others is wrong on a held-out
  // series.
  const f2 = Array.from({ length: 5 }, (_, i) => Array.from({ length: 5 }, (_, j) => i === j ? 1 : 0));
  const { range: [least, most] } = crossValidate(f2, 5, 0);
  assertEquals([least, most], [0, 0]);
});
