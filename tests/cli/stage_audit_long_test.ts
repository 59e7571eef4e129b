/**
 * Every stage, with its threads and packages, asks for nothing but what it is granted: as the runtime's audit of a run
 * with all permissions tells, and as a run with the granted ones alone shows.
 */
import { assertEquals } from "@std/assert";
import { fromFileUrl, join, resolve } from "@std/path";
import { permissionsOf } from "../../lib/cli/stage_permissions.ts";
import { exists } from "../../lib/io/files/inputs.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { runDeno, runStageProcess, succeeded } from "./process.ts";
import { commandOf } from "./stage_in_process.ts";
import { REAL_LINES, ReplayServer } from "./fetch/replay_server.ts";
import { smallSettings } from "../train/small_run.ts";

const ROOT = fromFileUrl(new URL("../../", import.meta.url));
const IN_PROCESS = fromFileUrl(new URL("./stage_in_process.ts", import.meta.url));
const PAIR = ["--src", "192.0.2.1", "--dst", "198.51.100.7"];

/** Words that stand for others in the chain. */
const WORDS: Record<string, string | string[]> = {
  PAIR,
  PLACES: ["city", "asn"].map((name) => fromFileUrl(new URL(`../data/places/${name}.csv`, import.meta.url))),
  RESULTS: fromFileUrl(new URL("../fuzz/atlas.jsonl.bz2", import.meta.url)),
  SMALL: smallSettings({ "model.prefixVectors": '{"rows":256}' }),
  MEASUREMENT: `${JSON.parse(REAL_LINES[0]).msm_id}`,
};

/**
 * The chain; `OUT` stands for the folder of what this run writes, `DONE` for that of what was written before, `API` for a
 * server that answers as RIPE Atlas does.
 */
const CHAIN: string[][] = `
synth --output OUT/new/synth.parquet --rows 4000 --probes 20 --destinations 8
import --input RESULTS --output OUT/atlas.parquet --max-reject-ratio 1
shard --input DONE/new/*.parquet --output OUT/shards --workers 2 --split-by row --train-shards 2 --val-shards 1 --test-shards 1
probe-rows --input DONE/shards --output OUT/rows --workers 2 --shards 2
pretokenize --input DONE/rows --output OUT/tokens
inspect DONE/rows DONE/new/synth.parquet --plot OUT/rows.svg
train --data DONE/rows --run OUT/run --steps 2 --workers 1 --profile --geo PLACES SMALL
status DONE/rows DONE/new/synth.parquet DONE/run
adapt --checkpoint DONE/run --input DONE/atlas.parquet --output OUT/adapted --steps 1
query rtt --checkpoint DONE/adapted PAIR --adapt DONE/new.jsonl
export --checkpoint DONE/adapted --output OUT/site
eval --checkpoint DONE/run --data DONE/rows --output OUT/eval --max-measurements 20 --contexts 0
query rtt --checkpoint DONE/run PAIR --plot OUT/rtt.svg
query rtt --checkpoint DONE/run --queries DONE/queries.jsonl --output OUT/answers.jsonl
query destinations --checkpoint DONE/run --src 192.0.2.1 --rtt 20 --max-expansions 2
query likelihood --checkpoint DONE/run --input DONE/atlas.parquet
query sample --checkpoint DONE/run --count 1
query nearest --checkpoint DONE/run --src 192.0.2.1 --candidates DONE/nodes.txt
query matrix --checkpoint DONE/run --nodes DONE/nodes.txt --output OUT/matrix.csv
query map --checkpoint DONE/run --src US --geo PLACES --output OUT/map.svg
fetch atlas --measurement MEASUREMENT --url API --start 2020-10-07T03:00 --stop 2020-10-07T04:00 --output OUT/fetched
watch --input DONE/new.jsonl --output OUT/alarms.jsonl --metrics OUT/watch.prom
slurm --input DONE/new/*.parquet --output OUT/cluster
score --checkpoint DONE/run --input DONE/atlas.parquet --output OUT/scored.parquet
`.trim().split("\n").map((line) => line.split(" ").flatMap((word) => WORDS[word] ?? word));

/** One access of the audit that the runtime writes (DENO_AUDIT_PERMISSIONS). */
interface AuditedAccess {
  permission: string;
  value: string | null;
}

/**
 * The audited accesses that the permissions do not cover. Let through is what stages do where they may, and do without:
 * to read the kernel's count of the memory, to look at the folders around an output, which must not be in an input, and to look
 * for a manifest where there is none. How modules are loaded differs here; whether a stage's threads can be, its run alone shows.
 */
function beyond(auditPath: string, granted: Deno.PermissionOptionsObject): string[] {
  const covers = ({ permission, value }: AuditedAccess): boolean => {
    const kinds = granted[permission as keyof Deno.PermissionOptionsObject];
    if (!Array.isArray(kinds) || value === null) return false;
    if (permission === "net") return kinds.includes(URL.parse(value)?.host ?? value);
    if (permission !== "read" && permission !== "write") return kinds.map(String).includes(value);
    const path = value.startsWith("file:") ? fromFileUrl(value) : resolve(value);
    const isModule = isWithin(path, ROOT) && /\.(ts|json|wgsl)$/.test(path);
    if (permission === "read" && (isModule || path === "/proc/self/status")) return true;
    if (permission === "read" && path.endsWith("manifest.json") && !exists(path)) return true;
    return kinds.map((kind) => kind instanceof URL ? fromFileUrl(kind) : kind).some((kind) =>
      isWithin(path, kind) || permission === "read" && isWithin(kind, path)
    );
  };
  const lines = exists(auditPath) ? Deno.readTextFileSync(auditPath).trim().split("\n") : [];
  const found = lines.map((line) => JSON.parse(line) as AuditedAccess).filter((access) => !covers(access));
  return [...new Set(found.map(({ permission, value }) => `${permission} ${value}`))];
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

Deno.test("no stage asks for more than it is granted, and each works with that", async (test) => {
  using folder = new TemporaryFolder();
  await using server = new ReplayServer();
  const done = folder.at("done");
  Deno.mkdirSync(done);
  Deno.writeTextFileSync(join(done, "queries.jsonl"), '{"src": "192.0.2.1", "dst": "198.51.100.7"}\n');
  const measurement = { src: PAIR[1], dst: PAIR[3], time: 1_600_000_000, rtt: 12.5 };
  Deno.writeTextFileSync(join(done, "new.jsonl"), `${JSON.stringify(measurement)}\n`);
  Deno.writeTextFileSync(join(done, "nodes.txt"), `${PAIR[1]}\n${PAIR[3]}\n`);
  for (const [index, command] of CHAIN.entries()) {
    const wordsIn = (folder: string) =>
      command.map((word) => word.replace("DONE", done).replace("OUT", folder).replace(/^API$/, server.url));
    const [stage, ...args] = wordsIn(done);
    const network = stage === "fetch" ? ["--allow-net", "--allow-env=RIPE_ATLAS_KEY"] : [];
    const name = command.filter((word) => !word.startsWith("-")).slice(0, 2).join(" ");
    await test.step(`${name}: the audit`, async () => {
      const { command, rest } = commandOf([stage, ...args]);
      const granted = permissionsOf(command, rest) as Deno.PermissionOptionsObject;
      const audit = folder.at(`${index}.audit`);
      // With a path to read and write, however short, the audit tells reads from writes.
      await succeeded(runDeno(
        [
          ...["--allow-read=/", "--allow-write=/", "--allow-sys=systemMemoryInfo", ...network],
          ...[IN_PROCESS, stage, ...args],
        ],
        { env: { DENO_AUDIT_PERMISSIONS: audit } },
      ));
      assertEquals(beyond(audit, granted), []);
    });
    await test.step(`${name}: alone`, async () => {
      await succeeded(runStageProcess(wordsIn(folder.at("alone")), { flags: network }));
    });
  }
  const sections = (output: string) => {
    const { truth, ...report } = JSON.parse(Deno.readTextFileSync(join(output, "eval/report.json")));
    return [truth !== undefined && truth !== null, ...Object.keys(report)];
  };
  assertEquals(sections(folder.at("alone")), sections(done));
  assertEquals(sections(done)[0], true, "the truth of the synthetic Internet is found");
});
