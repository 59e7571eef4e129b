/** `watch --follow` for weeks: rotations, kills and full disks. @module */
import { assertEquals, assertGreater, assertStringIncludes, assertThrows } from "@std/assert";
import { SmallDisk } from "../../io/files/small_disk.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { until } from "../../until.ts";
import { linesOf, requireSameAlarms, RunningWatch, textOf } from "./rotated_watch.ts";

Deno.test("watch --follow reports the same alarms over 20 rotations and 20 kills as undisturbed", async () => {
  assertGreater(await requireSameAlarms({ numRotations: 20, numKills: 20, seed: 1 }), 80);
});

const ignore = !await SmallDisk.isPossible();
Deno.test("a full disk is reported once, until metrics are written again", { ignore }, async () => {
  using folder = new TemporaryFolder();
  await using _disk = await SmallDisk.mount(folder.at("disk"), "64k");
  const [input, output] = [folder.at("pings.jsonl"), folder.at("alarms.jsonl")];
  Deno.writeTextFileSync(input, linesOf(0).join(""));
  const metrics = folder.at("disk/watch.prom");
  await using watch = new RunningWatch([
    "--input",
    input,
    "--follow",
    "--output",
    output,
    "--metrics",
    metrics,
  ]);
  const measured = () => textOf(metrics).includes("ping_llm_watch_measurements_total 400\n");
  await until("the metrics", measured);
  assertThrows(
    () => Deno.writeFileSync(folder.at("disk/full"), new Uint8Array(1 << 20)),
    Error,
    "No space left",
  );
  await until("the line", () => watch.stderr.includes("until then no metrics are written"));
  const numAlarms = () => textOf(output).split("\n").length - 1;
  const before = numAlarms();
  Deno.writeTextFileSync(input, linesOf(1).join(""), { append: true });
  await until("further alarms", () => numAlarms() > before);
  // Several attempts to write the metrics, 10 s apart, fail.
  await new Promise((resolve) => setTimeout(resolve, 21_000));
  Deno.removeSync(folder.at("disk/full"));
  await until("the metrics again", () => watch.stderr.includes("the metrics are written again"));
  assertEquals(await watch.end("SIGTERM"), 75);
  const { stderr } = watch;
  assertEquals(stderr.match(/no space left/g)?.length, 1, stderr);
  assertEquals(stderr.match(/the metrics are written again/g)?.length, 1, stderr);
  assertStringIncludes(Deno.readTextFileSync(metrics), "ping_llm_watch_measurements_total 800\n");
});
