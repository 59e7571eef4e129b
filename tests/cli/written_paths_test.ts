/** Every option with a path to write keeps existing files, whoever wrote them, and all files being read. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { kebab } from "../../lib/cli/options.ts";
import { leavesOf } from "../../lib/cli/command.ts";
import { refuseOutputs } from "../../lib/cli/stage_permissions.ts";
import { UsageError, UserError } from "../../lib/base/errors.ts";
import { exists } from "../../lib/io/files/inputs.ts";
import { OWN_OUTPUTS } from "../../tasks/own_outputs.ts";
import { STAGES } from "../../tasks/stages.ts";
import { folderHashes } from "../data/probe_rows/stage_fixtures.ts";
import { sampleBatch, writeParquet } from "../data/probe_rows/sample_parquet.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { writeRowCheckpoint } from "../query/adapt/row_checkpoint.ts";
import { tinyLocatedModel, tinyPlacedModel } from "../query/adapt/tiny_rows.ts";
import { smallSettings } from "../train/small_run.ts";
import { writeTrainingRows } from "../train/training_runs.ts";
import { commandOf, loadStage } from "./stage_in_process.ts";
import { refused, runStageProcess } from "./process.ts";

const folder = new TemporaryFolder();
const at = (name: string) => folder.at(name);
const MINE = "src;dst;what I noted\n";

/** By option with an output: the rest of the command, whose words with a slash are in the folder. */
const TABLE: Record<string, string> = {
  "synth --output": "--rows 10 --probes 2 --destinations 2",
  "fetch atlas --output": "--measurement 1 --start 2020-01-01 --stop 2020-01-02",
  "fetch globalping --output": "--id 1",
  "fetch prometheus --output": "--query up --start 2020-01-01 --stop 2020-01-02",
  "import --output": "--input ./in.parquet",
  "shard --output": "--input ./in.parquet",
  "probe-rows --output": "--input ./in.parquet",
  "pretokenize --output": "--input ./rows",
  "inspect --plot": "./rows/train",
  "train --run": "--data ./rows --steps 1 SMALL",
  "adapt --output": "--checkpoint ./run --input ./pings.jsonl --steps 1",
  "eval --output": "--checkpoint ./run --data ./rows",
  "eval --plots": "--checkpoint ./run --data ./rows --output ./evaluated",
  "query rtt --output": "--checkpoint ./run --queries ./queries.jsonl",
  "query rtt --plot": "--checkpoint ./run --src 192.0.2.1 --dst 198.51.100.7",
  "query rtt --table": "--checkpoint ./run --src 192.0.2.1 --dst 198.51.100.7",
  "query destinations --output": "--checkpoint ./run --src 192.0.2.1 --rtt 20 --max-expansions 2",
  "query nearest --output": "--checkpoint ./run --src 192.0.2.1 --candidates ./nodes.txt",
  "query advise --output": "--checkpoint ./located --src 192.0.2.1 --candidates ./nodes.txt",
  "query place --output": "--checkpoint ./run --context ./far.jsonl",
  "query matrix --output": "--checkpoint ./run --nodes ./nodes.txt",
  "query map --output": "--checkpoint ./run --src 192.0.2.1",
  "query sample --output": "--checkpoint ./run --count 2",
  "query likelihood --output": "--checkpoint ./run --input ./few.parquet",
  "score --output": "--checkpoint ./run --input ./pings.jsonl",
  "score --report": "--checkpoint ./run --input ./pings.jsonl --output ./scored.parquet",
  "watch --output": "--input ./pings.jsonl",
  "watch --report": "--input ./pings.jsonl --output ./alarms.jsonl",
  "watch --metrics": "--input ./pings.jsonl --output ./alarms.jsonl",
  "export --output": "--checkpoint ./run",
  "slurm --output": "--input ./in.parquet",
  "demo --output": "--input ./in.parquet",
  "compile --output": "--form launcher",
};
/** File extensions that determine the format. */
const ENDINGS: Record<string, string[]> = {
  "query map --output": [".svg", ".csv", ".geojson"],
  "query place --output": [".jsonl", ".csv"],
  "query matrix --output": [".csv"],
  "query rtt --table": [".parquet"],
  "inspect --plot": [".svg"],
  "score --report": [".html"],
  "watch --report": [".html", ".json"],
};
const isFile = (name: string) => (OWN_OUTPUTS as readonly string[]).includes(name);

function wordsOf(name: string, path: string): string[] {
  const [command, option] = name.split(" --");
  const words = TABLE[name].split(" ").flatMap((word) =>
    word === "SMALL" ? smallSettings({}) : word.startsWith("./") ? at(word.slice(2)) : word
  );
  return [...command.split(" "), ...words, `--${option}`, path, "--quiet"];
}

/** Runs a command in this process, after the program's checks. */
async function run(words: readonly string[]): Promise<void> {
  const { command, rest } = commandOf(words);
  refuseOutputs(command, rest);
  await (await loadStage(command)).run(rest);
}

Deno.test.beforeAll(async () => {
  writeRowCheckpoint(at("run"), 3, await tinyPlacedModel());
  Deno.writeTextFileSync(at("run/manifest.json"), "{}");
  writeRowCheckpoint(at("located"), 3, tinyLocatedModel());
  await writeTrainingRows(at("rows"), 4);
  writeParquet(at("in.parquet"), sampleBatch({ numRows: 40 }));
  writeParquet(at("few.parquet"), sampleBatch({ numRows: 2 }));
  const lines = Array.from({ length: 130 }, (_, i) => {
    const rtt = (i > 60 ? 58 : 20) + 0.1 * (i % 3);
    return `{"src":"192.0.2.1","dst":"198.51.100.7","time":${1_480_000_000 + 240 * i},"rtt":${rtt}}\n`;
  });
  Deno.writeTextFileSync(at("pings.jsonl"), lines.join(""));
  // From France to New Zealand, faster than light.
  Deno.writeTextFileSync(
    at("far.jsonl"),
    '{"src":"109.220.162.1","dst":"114.23.156.1","time":1480000000,"rtt":9}\n',
  );
  Deno.writeTextFileSync(at("queries.jsonl"), '{"src":"192.0.2.1","dst":"198.51.100.7"}\n');
  Deno.writeTextFileSync(at("nodes.txt"), "192.0.2.1\n198.51.100.7\n");
});
Deno.test.afterAll(() => folder[Symbol.dispose]());

Deno.test("the table lists every option that names an output path", () => {
  const named = leavesOf(STAGES).flatMap(({ name, options }) =>
    Object.entries(options).filter(([, { use }]) => use?.role === "output")
      .map(([option]) => `${name} --${kebab(option)}`)
  );
  assertEquals(Object.keys(TABLE).sort(), named.sort());
});

for (const name of Object.keys(TABLE)) {
  Deno.test(`${name} keeps a user's file and its own inputs`, async () => {
    const [ending] = ENDINGS[name] ?? [".out"];
    const isFolder = commandOf(wordsOf(name, "x")).command.options[name.split(" --")[1]].use?.value === "DIR";
    const place = isFolder ? at("mine") : at(`mine${ending}`);
    // slurm adds a folder of scripts to a user's folder, but not to one that a stage wrote.
    const path = isFolder ? `${place}/${name === "slurm --output" ? "manifest.json" : "notes.txt"}` : place;
    if (isFolder) Deno.mkdirSync(place);
    Deno.writeTextFileSync(path, MINE);
    // With --overwrite only a file without a manifest is replaced.
    for (const words of isFile(name) || name === "train --run" ? [[]] : [[], ["--overwrite"]]) {
      const before = folderHashes(folder.path);
      await assertRejects(() => run([...wordsOf(name, place), ...words]), UserError, "Cannot ");
      assertEquals(folderHashes(folder.path), before);
    }
    Deno.removeSync(place, { recursive: true });
    const { command, rest } = commandOf(wordsOf(name, place));
    const read = rest.slice(0, -3).filter((word) => word.startsWith(folder.path) && exists(word));
    const inRun = ["manifest.json", "checkpoints", "checkpoints/latest", "checkpoints/step-00000003/new"];
    const within = (path: string) => {
      if (exists(`${path}/checkpoints`)) return inRun.map((name) => `${path}/${name}`);
      return path === at("rows") ? [`${path}/train/new`] : [path];
    };
    const kept = read.flatMap(within);
    assertEquals(kept.length > 0, TABLE[name].includes("./"));
    for (const path of kept) {
      const args = rest.map((word) => word === place ? path : word);
      assertThrows(() => refuseOutputs(command, args), UsageError, "input", path);
    }
  });
}

for (const name of OWN_OUTPUTS) {
  for (const ending of ENDINGS[name] ?? [".out"]) {
    Deno.test(`${name} replaces its own ${ending}, and any file with --overwrite`, async () => {
      const path = at(name.replace(/\W+/g, "-") + ending);
      Deno.writeTextFileSync(path, MINE);
      await run([...wordsOf(name, path), "--overwrite"]);
      assert(Deno.readTextFileSync(path) !== MINE);
      assert(Deno.statSync(path).size > MINE.length, "too small to be tested");
      await run(wordsOf(name, path));
      // Other commands do not mistake it for their own output.
      const others = OWN_OUTPUTS.filter((other) =>
        other !== name && (ENDINGS[other] ?? [ending]).includes(ending)
      );
      for (const other of others) {
        await assertRejects(() => run(wordsOf(other, path)), UserError, "did not write");
      }
    });
  }
}

Deno.test("other programs' JSON with some of the same keys is kept", async () => {
  const others = {
    "query rtt --output": [
      '{"line":12,"level":"error","error":"timeout"}\n',
      '{"line":1,"src":"a.c","n":2}\n',
    ],
    "query map --output": ['{"type":"FeatureCollection","name":"x","src":"y","attribution":"z"}\n'],
  };
  for (const [name, texts] of Object.entries(others)) {
    const path = at(`others${name.includes("map") ? ".geojson" : ".out"}`);
    for (const text of texts) {
      Deno.writeTextFileSync(path, text);
      await assertRejects(() => run(wordsOf(name, path)), UserError, "did not write");
      assertEquals(Deno.readTextFileSync(path), text);
    }
  }
});

Deno.test("outputs in device folders, outputs named twice and outputs among the inputs are rejected", async () => {
  const watch = ["watch", "--input", at("pings.jsonl")];
  for (const path of ["/dev/stdout", "/dev/full", "/proc/self/fd/1"]) {
    await refused(runStageProcess([...watch, "--output", path]), 2, `${path}: it is in a device folder`);
  }
  const same = [...watch, "--output", at("a.jsonl"), "--metrics", at("./a.jsonl")];
  await refused(runStageProcess(same), 2, "two options name it");
  for (const name of ["pings.jsonl", "new.jsonl"]) {
    const { command, rest } = commandOf([
      "watch",
      "--input",
      at("*.jsonl"),
      "--output",
      at(name),
      "--overwrite",
    ]);
    assertThrows(() => refuseOutputs(command, rest), UsageError, "it is also an input");
  }
  for (
    const words of [
      "watch --input ./*.jsonl --output ./new.out",
      "train --data ./rows --run ./run --resume-from ./run",
    ]
  ) {
    const { command, rest } = commandOf(
      words.split(" ").map((word) => word.startsWith("./") ? at(word.slice(2)) : word),
    );
    refuseOutputs(command, rest);
  }
});
