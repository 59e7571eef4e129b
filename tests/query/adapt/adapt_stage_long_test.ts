/** The stage `adapt` as users run it: files, signals and permissions. @module */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { join } from "@std/path";
import { exists } from "../../../lib/io/files/inputs.ts";
import type { basisJson } from "../../../lib/data/addresses/known_addresses.ts";
import { formatAddress } from "../../../lib/data/addresses/ip.ts";
import { decodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../../lib/data/tokens/vocab_v2.ts";
import { UPDATE_FILE } from "../../../lib/train/adapted_checkpoint.ts";
import { loadCheckpoint } from "../../../lib/train/checkpoint.ts";
import { outputOf, refused, runStageProcess, spawnStage, succeeded } from "../../cli/process.ts";
import { until } from "../../until.ts";
import { withRowCheckpoint } from "./row_checkpoint.ts";
import { estimateOf, KNOWN, measured, NEW_ADDRESS, newMeasurements, tinyLocatedModel } from "./tiny_rows.ts";

function jsonLines(measurements: readonly TokenMeasurement[]): string {
  return measurements.map(({ source, destination, rttCode, timeS }) => {
    const rtt = rttCode === null ? null : decodeRttCode(rttCode);
    return `${
      JSON.stringify({ src: formatAddress(source), dst: formatAddress(destination), time: timeS, rtt })
    }\n`;
  }).join("");
}

function basisOf(answer: Record<string, unknown>): ReturnType<typeof basisJson> {
  return answer.basis as ReturnType<typeof basisJson>;
}

/** The file published in a folder that may change meanwhile; undefined if there is none. */
function updateIn(folder: string): string | undefined {
  const path = join(folder, UPDATE_FILE);
  return exists(path) ? Deno.readFileSync(path).toHex() : undefined;
}

/** Arguments for a run with few steps. */
function command(at: (name: string) => string, output: string, ...more: string[]): string[] {
  const from = more.includes("--checkpoint") ? [] : ["--checkpoint", at("run")];
  const steps = more.includes("--steps") ? [] : ["--steps", "3"];
  return ["adapt", ...from, "--output", at(output), ...steps, "--json", ...more];
}

async function succeed(args: string[], stdin?: string): Promise<Record<string, unknown>> {
  const { stdout } = await succeeded(runStageProcess(
    args,
    stdin === undefined ? {} : { stdin: new TextEncoder().encode(stdin) },
  ));
  return JSON.parse(stdout);
}

Deno.test("adapt writes changed embeddings that queries read", () =>
  withRowCheckpoint(async (at) => {
    Deno.writeTextFileSync(at("new.jsonl"), jsonLines(newMeasurements()));
    const input = ["--input", at("new.jsonl")];
    const first = await succeed(command(at, "adapted", ...input));
    assertEquals([first.addresses, first.measurements, first.num_failed, first.done_already], [
      1,
      4,
      1,
      false,
    ]);
    const again = await succeed(command(at, "adapted", ...input));
    assertEquals([again.done_already, again.rows], [true, first.rows]);

    const question = ["--src", KNOWN[0], "--dst", NEW_ADDRESS, "--json"];
    const [before, after] = await Promise.all(
      ["run", "adapted"].map((run) => succeed(["query", "rtt", "--checkpoint", at(run), ...question])),
    );
    assertNotEquals(after.quantiles_ms, before.quantiles_ms);
    const query = ["query", "rtt", "--checkpoint", at("run"), ...question, "--adapt", at("new.jsonl")];
    const alone = await succeed(query);
    assertEquals(
      basisOf(before).text.split(":")[0],
      "Source measured 8 times, last on 2023-11-14, destination never",
    );
    const text = "Pair in 1 measurement of the adaptation, last on 2023-11-14.";
    for (const answered of [after, alone]) {
      assertEquals(basisOf(answered).text, text);
      assertEquals(basisOf(answered).dst, {
        measurements: 4,
        in_adaptation: 4,
        last_seen: "2023-11-14T22:13:20.000Z",
      });
    }
    assertNotEquals(alone.quantiles_ms, before.quantiles_ms);
    Deno.writeTextFileSync(at("queries.jsonl"), `${JSON.stringify({ src: KNOWN[0], dst: NEW_ADDRESS })}\n`);
    const ofFile = ["--queries", at("queries.jsonl"), "--output", at("answers.jsonl")];
    await succeed([
      ...["query", "rtt", "--checkpoint", at("run"), ...ofFile, "--json"],
      ...["--adapt", at("new.jsonl")],
    ]);
    const answer = JSON.parse(Deno.readTextFileSync(at("answers.jsonl")));
    assertEquals([answer.src, answer.error], [KNOWN[0], undefined]);
    assertEquals(basisOf(answer).text, text);
    await succeed(command(at, "twice", "--checkpoint", at("adapted"), ...input));
    const [twice, once] = ["twice", "adapted"].map((name) => loadCheckpoint(at(name)));
    assertEquals(twice.adapted?.base, once.adapted?.base);
    assertEquals([once, twice].map(({ trainingData }) => trainingData.adaptation?.summary.measurements), [
      4,
      8,
    ]);
  }));

Deno.test("adapt --merge writes a whole checkpoint with the same weights", () =>
  withRowCheckpoint(async (at) => {
    Deno.writeTextFileSync(at("new.jsonl"), jsonLines(newMeasurements()));
    await succeed(command(at, "adapted", "--input", at("new.jsonl")));
    await succeed(command(at, "whole", "--input", at("new.jsonl"), "--merge"));
    const [adapted, whole] = ["adapted", "whole"].map((name) => loadCheckpoint(at(name)));
    assertEquals(whole.weights, adapted.weights);
    assertEquals(whole.adapted, undefined);
    assertEquals(whole.trainingData, adapted.trainingData);
    assertEquals(whole.trainingData.adaptation?.summary.measurements, 4);
    Deno.removeSync(at("run"), { recursive: true });
    assertEquals(loadCheckpoint(at("whole")).weights, adapted.weights);
    const question = ["--checkpoint", at("adapted"), "--src", KNOWN[0], "--dst", NEW_ADDRESS];
    await refused(runStageProcess(["query", "rtt", ...question]), 1, "its base is");
    assert(estimateOf({ config: whole.config.model, weights: whole.weights }, [NEW_ADDRESS, KNOWN[1]]));
  }, tinyLocatedModel()));

Deno.test("adapt --follow publishes fewer than --every-lines after --every-seconds", () =>
  withRowCheckpoint(async (at) => {
    const follow = ["--follow", "--every-lines", "1000", "--every-seconds", "0.1"];
    const child = spawnStage(command(at, "adapted", ...follow), { stdin: new Uint8Array() });
    const output = outputOf(child);
    const writer = child.stdin.getWriter();
    const hashOf = () => updateIn(at("adapted"));
    await until("the first update", () => hashOf() !== undefined);
    const published = hashOf();
    await writer.write(new TextEncoder().encode(jsonLines(newMeasurements().slice(0, 2))));
    await until("the lines are published", () => ![undefined, published].includes(hashOf()));
    child.kill("SIGTERM");
    assertEquals((await output).code, 75);
    await writer.close().catch(() => {});
  }));

Deno.test("adapt --follow publishes new lines, resumes from them and saves on SIGTERM", () =>
  withRowCheckpoint(async (at) => {
    const follow = ["--follow", "--every-lines", "2", "--every-seconds", "86400"];
    const lines = jsonLines([...newMeasurements(), measured(KNOWN[2], NEW_ADDRESS, 40)]);
    const ended = await succeed(command(at, "adapted", ...follow), `${lines}no measurement\n`);
    assertEquals([ended.measurements, ended.num_bad], [6, 1]);
    assertEquals(ended.num_published, 4, "at first, and after two lines each");
    const before = loadCheckpoint(at("adapted"));
    assert((before.adapted?.rows.size ?? 0) > 1);
    const child = spawnStage(command(at, "adapted", ...follow), { stdin: new Uint8Array() });
    const writer = child.stdin.getWriter();
    const write = (text: string) => writer.write(new TextEncoder().encode(text));
    let log = "";
    const logged = child.stderr.pipeThrough(new TextDecoderStream())
      .pipeTo(new WritableStream({ write: (text) => void (log += text) }));
    const hashOf = () => updateIn(at("adapted"));
    const published = hashOf();
    const stranger = measured("10.1.2.3", KNOWN[0], 70);
    await write(jsonLines([stranger, stranger]));
    await until("two lines are published", () => hashOf() !== published);
    // An invalid line is reported once the lines before it have been read.
    await write(`${jsonLines([measured("10.9.9.9", KNOWN[0], 70)])}no measurement\n`);
    await until("the third line is read, and kept", () => log.includes("line 4:"));
    child.kill("SIGTERM");
    const { code } = await child.status;
    await Promise.all([logged, child.stdout.cancel()]);
    await writer.close().catch(() => {});
    assertEquals(code, 75);
    const after = loadCheckpoint(at("adapted"));
    for (const row of before.adapted?.rows ?? []) assert(after.adapted?.rows.has(row), `row ${row}`);
    const strangers = (after.adapted?.rows.size ?? 0) - (before.adapted?.rows.size ?? 0);
    assertEquals(strangers, 4, "two addresses and the pair of each, no prefixes");
    assertEquals([before.adapted?.nodes.size, after.adapted?.nodes.size], [1, 3]);
    const numFitted = [before, after].map(({ trainingData }) =>
      trainingData.adaptation?.summary.measurements
    );
    assertEquals(numFitted, [5, 8], "each reply once, however often it was fitted");
    const pair = [NEW_ADDRESS, KNOWN[1]] as const;
    const [was, is] = [before, after].map(({ config, weights }) =>
      estimateOf({ config: config.model, weights }, pair)
    );
    assertEquals(is, was, "the first address was not measured again");
  }, tinyLocatedModel()));

Deno.test("adapt refuses unusable input with a one-line error", () =>
  withRowCheckpoint(async (at) => {
    Deno.writeTextFileSync(at("new.jsonl"), jsonLines(newMeasurements()));
    Deno.writeTextFileSync(at("bad.jsonl"), '{"src": "10.0.0.1", "dst": "x", "rtt": 1}\n'.repeat(2));
    Deno.writeTextFileSync(at("other.jsonl"), '{"src": "10.0.0.1"}\n[]\n');
    const refuse = async (args: string[], code: number, message: string) =>
      await refused(runStageProcess(args), code, message);
    const input = ["--input", at("new.jsonl")];
    await refuse(command(at, "out"), 2, "--input PATH is missing");
    await refuse(command(at, "out", ...input, "--follow"), 2, "it reads standard input");
    await refuse(command(at, "run", ...input), 2, "Cannot write to");
    const line = await refuse(command(at, "out", "--input", at("bad.jsonl")), 1, "2 of 2 rows were rejected");
    assertMatch(line, /expected at most 5 %; correct or remove them\n$/);
    await refuse(
      command(at, "out", "--input", at("other.jsonl")),
      1,
      "found no measurements, only 1 results",
    );
    await refuse(
      command(at, "out", ...input, "--addresses", "nowhere"),
      2,
      "expected an IPv4 or IPv6 address",
    );
  }));

Deno.test("query rtt notes only the queried addresses without an embedding", () =>
  withRowCheckpoint(async (at) => {
    Deno.writeTextFileSync(at("new.jsonl"), jsonLines(newMeasurements()));
    await succeed(command(at, "adapted", "--input", at("new.jsonl")));
    const notesOf = async (run: string, dst: string) => {
      const asked = ["--src", KNOWN[0], "--dst", dst, "--json"];
      const { notes = [] } = await succeed(["query", "rtt", "--checkpoint", at(run), ...asked]);
      return (notes as string[]).filter((note) => note.includes("has no embedding"));
    };
    assertEquals(await notesOf("adapted", NEW_ADDRESS), []);
    const note = "10.1.2.3 has no embedding in the model: the answer is not based on its measurements";
    assertEquals(await notesOf("adapted", "10.1.2.3"), [note]);
  }));
