import { assert, assertEquals } from "@std/assert";
import { dirname, fromFileUrl, join } from "@std/path";
import { type Command, helpOf, leavesOf } from "../../lib/cli/command.ts";
import { kebab } from "../../lib/cli/options.ts";
import { permissionsOf } from "../../lib/cli/stage_permissions.ts";
import { moduleOf, STAGES } from "../../tasks/stages.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import type { Allowed, Attempts } from "./permission_probe.ts";
import { commandOf } from "./stage_in_process.ts";

const PROBE = new URL("./permission_probe.ts", import.meta.url);

/** Names of several paths; a folder ends with `/`. */
const NAMES: Record<string, string> = {
  A: "in/a.parquet in/a.parquet.manifest.json",
  TRAINED: "run/metrics.jsonl run/checkpoints/step-1/state.json",
  ORIGIN: "shards/manifest.json made/synth.parquet.manifest.json",
  SHARDS: "shards/ shards/manifest.json shards/train/s.parquet",
  ROWS: "rows/manifest.json rows/test/r.arrayrecord",
  ADAPTED: "adapted/manifest.json adapted/rows.safetensors",
  MADE: "made/synth.parquet made/synth.parquet.manifest.json made/synth.truth.json",
  FILE: "out/f.parquet out/f.parquet.manifest.json out/.f.parquet.work/",
  DIR: "dir/ dir/sub/x",
};
/** The words of a text, some of which stand for several paths. */
function pathsOf(text = ""): string[] {
  return text.split(/\s+/).flatMap((word) => (NAMES[word] ?? word).split(" ")).filter((word) => word !== "");
}

/** The paths tried with the permissions of every stage. */
const READS = pathsOf(`in/ A in/b.parquet in/.hidden/key SHARDS MADE ROWS TRAINED ADAPTED forged/manifest.json
  eval/report.json link.parquet out/ dir/report.json secret /etc/hostname /proc/self/environ`);
const WRITES = pathsOf(
  `FILE out/f.truth.json out/f.rejects.jsonl out/f.names.csv out/g.parquet out/.g.parquet.work/
  new/deep/.f.svg.work/ new/deep/ DIR dir2/ in/a.parquet shards/train/s.parquet run/latest secret`,
);

/** One command per line, with everything above that it may read and write, and what else it may do. */
const TABLE = `
synth --rows 5 --output out/f.parquet | out/ | FILE out/f.truth.json
fetch atlas --measurement 1 --start 2020-01-01 --output dir --url http://127.0.0.1:8080 | dir/report.json | DIR | served
fetch globalping --target example.com --output dir --key-file in/b.parquet | in/b.parquet dir/report.json | DIR
fetch prometheus --query up --start 2020-01-01 --output dir --url http://127.0.0.1:8080/api | dir/report.json | DIR | served
import --input in/a.parquet - --output=out/f.parquet | A out/ | FILE out/f.rejects.jsonl out/f.names.csv
shard --input in/[ab].parquet --overwrite --output dir | in/ A in/b.parquet in/.hidden/key dir/report.json | DIR
probe-rows --input shards/train --output dir | SHARDS dir/report.json | DIR
pretokenize --input link.parquet --output dir | link.parquet in/a.parquet dir/report.json | DIR
inspect --json shards/train/s.parquet --samples 2 | SHARDS
inspect --plot new/deep/f.svg in/b.parquet rows | in/b.parquet ROWS | new/deep/.f.svg.work/
status rows run --json | ROWS TRAINED
status shards/manifest.json link.parquet made/synth.parquet | A SHARDS MADE link.parquet
train --data rows --run dir --init-from run | ROWS ORIGIN TRAINED dir/report.json | DIR | memory
train --data rows --run dir --teacher adapted | ROWS ORIGIN TRAINED ADAPTED dir/report.json | DIR | memory
eval --checkpoint run/checkpoints/step-1 --data rows --output dir | SHARDS made/synth.truth.json ROWS TRAINED dir/report.json | DIR | memory
eval --all-splits in/b.parquet --output dir --max-time 5m | in/b.parquet dir/report.json | DIR | memory
train --data rows --run dir --teacher forged | ROWS ORIGIN forged/manifest.json dir/report.json | DIR | memory
adapt --checkpoint adapted --input in/b.parquet --output dir | in/b.parquet TRAINED ADAPTED dir/report.json | DIR
query rtt --checkpoint run --queries in/b.parquet --output out/f.parquet | in/b.parquet TRAINED out/ | FILE
query destinations --checkpoint run --context in/b.parquet --calibration dir/report.json | in/b.parquet TRAINED dir/report.json
query nearest --checkpoint run --sources in/b.parquet --candidates in/b.parquet --output out/f.parquet | in/b.parquet TRAINED out/ | FILE
query matrix --checkpoint run --nodes in/b.parquet --output out/f.parquet | in/b.parquet TRAINED out/ | FILE
query map --checkpoint run --src DE --output out/f.parquet | TRAINED out/ | FILE
query likelihood --checkpoint run --input in/b.parquet | in/b.parquet TRAINED
query sample --checkpoint run --count 3 --names in/b.parquet | in/b.parquet TRAINED
score --checkpoint run --input in/b.parquet --context 3 --output out/f.parquet | in/b.parquet TRAINED out/ | FILE out/f.rejects.jsonl
watch --checkpoint run --input in/b.parquet --metrics out/f.parquet | in/b.parquet TRAINED out/ | FILE
watch --input in/b.parquet --listen 127.0.0.1:8080 --geo in/a.parquet | A in/b.parquet | | served
watch --input in/b.parquet --webhook http://127.0.0.1:8080/a?b --webhook-key secret | in/b.parquet secret | | served
watch --input in/b.parquet --webhook https://example.org/alarms | in/b.parquet
serve --checkpoint run --calibration in/b.parquet | in/b.parquet TRAINED eval/report.json | | served
serve --checkpoint run/checkpoints/step-1 --port 0 --watch --report in/b.parquet | in/b.parquet TRAINED eval/report.json | | loopback
serve --checkpoint run --host ::1 --port=0 | TRAINED eval/report.json
serve --checkpoint run --mcp | TRAINED eval/report.json
slurm --input in/b.parquet --config link.parquet --output dir | in/a.parquet in/b.parquet link.parquet dir/report.json | DIR | sbatch
demo --input in/b.parquet --output dir | in/b.parquet dir/report.json | DIR | memory
demo --fetch 1001 --start 2020-01-01 --output dir --url=http://127.0.0.1:8080 | dir/report.json | DIR | served memory
compile --output out/f.parquet | out/ | FILE | deno
completion bash
query rtt --help
`.trim().split("\n").map((line) => line.split("|").map((cell) => cell.trim()));

/** Files for the table: shards made from a synthetic Internet, rows made from the shards, a run. */
function makeFiles(folder: TemporaryFolder): void {
  const manifest = (input: string) => JSON.stringify({ inputs: [{ path: folder.at(input) }] });
  const contents: Record<string, string> = {
    "made/synth.parquet.manifest.json": JSON.stringify({ outputs: [{ path: "synth.truth.json" }] }),
    "shards/manifest.json": manifest("made/synth.parquet"),
    "rows/manifest.json": manifest("shards/train/s.parquet"),
    "adapted/manifest.json": JSON.stringify({
      stage: "adapt",
      options: { base: folder.at("run/checkpoints/step-1") },
    }),
    "forged/manifest.json": JSON.stringify({ stage: "adapt", options: { base: folder.path } }),
  };
  for (
    const path of [...READS, "in/a.parquet"].filter((path) =>
      !path.startsWith("/") && path !== "link.parquet"
    )
  ) {
    Deno.mkdirSync(dirname(folder.at(`${path}x`)), { recursive: true });
    if (!path.endsWith("/")) Deno.writeTextFileSync(folder.at(path), contents[path] ?? "text");
  }
  Deno.mkdirSync(folder.at("dir/sub"), { recursive: true });
  Deno.symlinkSync(folder.at("in/a.parquet"), folder.at("link.parquet"));
}

/**
 * Tries each of the permissions in a process whose PATH is a folder with the programs being tried: what this
 * machine has installed makes no difference, and a program that may be started does start.
 */
async function probe(permissions: Deno.PermissionOptionsObject[], attempts: Attempts): Promise<Allowed[]> {
  using programs = new TemporaryFolder();
  for (const name of ["true", "sbatch"]) {
    Deno.writeTextFileSync(programs.at(name), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  }
  const sets = permissions.map((each) => {
    // The probe itself is not part of the library.
    const read = [...each.read as (string | URL)[], PROBE];
    return { ...each, read: read.map((path) => path instanceof URL ? fromFileUrl(path) : path) };
  });
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-prompt", "-A", fromFileUrl(PROBE)],
      ...[attempts, ...sets].map((value) => JSON.stringify(value)),
    ],
    env: { PATH: programs.path, NO_COLOR: "1" },
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("each stage may read and write only the paths of its options", async () => {
  using folder = new TemporaryFolder();
  makeFiles(folder);
  const full = (path: string) => path.startsWith("/") ? path : folder.at(path);
  const permissions = TABLE.map(([line]) => {
    const words = line.split(" ").map((word, i) =>
      i === 0 ? word : word.replace(
        /^(--[a-z]+=)?(?!127)(?=(?!.*:\/\/).*[/.])|^(?=rows$|run$|dir$|adapted$|forged$|secret$)/,
        `$1${folder.path}/`,
      )
    );
    const { command, rest } = commandOf(words);
    return permissionsOf(command, rest) as Deno.PermissionOptionsObject;
  });
  const attempts = { reads: READS.map(full), writes: WRITES.map(full) };
  const allowed = await probe(permissions, attempts);
  for (const [i, [line, reads, writes, others]] of TABLE.entries()) {
    const expected = {
      reads: READS.filter((path) => pathsOf(reads).includes(path)).map(full),
      writes: WRITES.filter((path) => pathsOf(writes).includes(path)).map(full),
      others: pathsOf(others),
    };
    assertEquals(allowed[i], expected, line);
  }
});

/** The options of a command that name paths to read or write, as users write them. */
function pathOptionsOf({ options }: Command, isWritten: boolean): string[] {
  return Object.entries(options).filter(([, { use }]) => use && (use.role === "output") === isWritten)
    .map(([name]) => kebab(name));
}

Deno.test("only options that name paths have a use", () => {
  for (const command of leavesOf(STAGES)) {
    const options = [
      ...helpOf(command, { isWhole: true }).matchAll(
        /^ {2}--([a-z-]+) (?:P|PATH|DIR|FILE|F\.\w+|NAME\|FILE)…?(?: |$)/gm,
      ),
    ];
    const named = [...pathOptionsOf(command, false), ...pathOptionsOf(command, true)];
    assertEquals(named.sort(), options.map(([, option]) => option).sort(), command.name);
  }
});

Deno.test("the table of permissions in lib/cli/README.md lists the options of every stage", () => {
  const readme = Deno.readTextFileSync(new URL("../../lib/cli/README.md", import.meta.url));
  const section = /^## Permissions$([^]*)/m.exec(readme)?.[1] ?? "";
  const documented = [...section.matchAll(/^\| (`.*?) \|(.*?)\|(.*?)\|/gm)].flatMap(
    ([, stages, ...columns]) => {
      const options = columns.map((text) =>
        [...text.matchAll(/`--([a-z-]+)`/g)].map(([, name]) => name).sort()
      );
      return [...stages.matchAll(/`([a-z-]+)`/g)].map(([, stage]): [string, string[][]] => [stage, options]);
    },
  );
  assertEquals(documented.map(([stage]) => stage), Object.keys(STAGES));
  for (const [stage, [reads, writes]] of documented) {
    const kinds = leavesOf(STAGES).filter(({ name }) => name.split(" ")[0] === stage);
    const needed = (isWritten: boolean) =>
      [...new Set(kinds.flatMap((kind) => pathOptionsOf(kind, isWritten)))].sort();
    assertEquals([[...new Set(reads)], writes], [needed(false), needed(true)], stage);
  }
});

Deno.test("many named files are permitted through their folder", () => {
  using folder = new TemporaryFolder();
  const files = Array.from({ length: 100 }, (_, i) => folder.at(`${i}.parquet`));
  const { command, rest } = commandOf(["shard", "--input", ...files, "--output", folder.at("out")]);
  const { read } = permissionsOf(command, rest) as { read: string[] };
  assert(read.includes(folder.path) && read.length < 20, `${read.length} paths`);
});

Deno.test("an output that is a link grants access to its target, existing or not", () => {
  using folder = new TemporaryFolder();
  Deno.mkdirSync(folder.at("far"));
  Deno.symlinkSync("far/real.parquet", folder.at("f.parquet"));
  for (const step of ["nothing there yet", "a file"]) {
    const { command, rest } = commandOf(["synth", "--output", folder.at("f.parquet")]);
    const { read, write } = permissionsOf(command, rest) as { read: string[]; write: string[] };
    assert(read.includes(folder.at("far")), step);
    for (
      const name of ["real.parquet", ".real.parquet.work", "real.truth.json", "real.parquet.manifest.json"]
    ) {
      assert(write.includes(folder.at(`far/${name}`)), `${name}, ${step}`);
    }
    Deno.writeTextFileSync(folder.at("far/real.parquet"), "");
  }
});

Deno.test("a stage's module refuses to run directly", async () => {
  for (const path of leavesOf(STAGES).map((command) => fromFileUrl(moduleOf(command)))) {
    assert(Deno.readTextFileSync(path).includes("if (import.meta.main) serveStage("), path);
  }
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", fromFileUrl(new URL("../../tasks/inspect.ts", import.meta.url)), join("/", "etc")],
    env: { NO_COLOR: "1" },
  }).output();
  assertEquals(
    new TextDecoder().decode(stderr),
    "error: Cannot run the module of inspect by itself; run deno task inspect\n",
  );
  assertEquals(code, 2);
});
