/**
 * Every stage, with its threads and packages, works with the permissions it is granted and requests nothing
 * else, not even what it can do without: the runtime's audit also records refusals.
 */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join, resolve } from "@std/path";
import { permissionsOf } from "../../lib/cli/stage_permissions.ts";
import { exists } from "../../lib/io/files/inputs.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { runDeno, succeeded } from "./process.ts";
import { commandOf } from "./stage_in_process.ts";
import { REAL_LINES, ReplayServer } from "./fetch/replay_server.ts";
import { smallSettings } from "../train/small_run.ts";

const ROOT = fromFileUrl(new URL("../../", import.meta.url));
const MAIN = fromFileUrl(new URL("../../tasks/main.ts", import.meta.url));
const PAIR = ["--src", "192.0.2.1", "--dst", "198.51.100.7"];

/** Placeholders in the chain and what they stand for. */
const WORDS: Record<string, string | string[]> = {
  PAIR,
  PLACES: ["city", "asn"].map((name) => fromFileUrl(new URL(`../data/places/${name}.csv`, import.meta.url))),
  RESULTS: fromFileUrl(new URL("../fuzz/atlas.jsonl.bz2", import.meta.url)),
  SMALL: smallSettings({ "model.prefixVectors": '{"rows":256}' }),
  MEASUREMENT: `${JSON.parse(REAL_LINES[0]).msm_id}`,
};

/** The chain of commands. `OUT` is the folder of outputs, `API` a server that answers like RIPE Atlas. */
const CHAIN: string[][] = `
synth --output OUT/new/synth.parquet --rows 4000 --probes 20 --destinations 8
import --input RESULTS --output OUT/atlas.parquet --max-reject-ratio 1
shard --input OUT/new/*.parquet --output OUT/shards --workers 2 --split-by row --train-shards 2 --val-shards 1 --test-shards 1
probe-rows --input OUT/shards --output OUT/rows --workers 2 --shards 2
pretokenize --input OUT/rows --output OUT/tokens
inspect OUT/rows OUT/new/synth.parquet --plot OUT/rows.svg
train --data OUT/rows --run OUT/run --steps 2 --workers 1 --profile --geo PLACES SMALL
status OUT/rows OUT/new/synth.parquet OUT/run
adapt --checkpoint OUT/run --input OUT/atlas.parquet --output OUT/adapted --steps 1
query rtt --checkpoint OUT/adapted PAIR --adapt OUT/new.jsonl
export --checkpoint OUT/adapted --output OUT/site
eval --checkpoint OUT/run --data OUT/rows --output OUT/eval --max-measurements 20 --contexts 0
query rtt --checkpoint OUT/run PAIR --plot OUT/rtt.svg
query rtt --checkpoint OUT/run --queries OUT/queries.jsonl --output OUT/answers.jsonl
query destinations --checkpoint OUT/run --src 192.0.2.1 --rtt 20 --max-expansions 2
query likelihood --checkpoint OUT/run --input OUT/atlas.parquet
query sample --checkpoint OUT/run --count 1
query nearest --checkpoint OUT/run --src 192.0.2.1 --candidates OUT/nodes.txt
query matrix --checkpoint OUT/run --nodes OUT/nodes.txt --output OUT/matrix.csv
query map --checkpoint OUT/run --src US --geo PLACES --output OUT/map.svg
query place --checkpoint OUT/run --output OUT/wrong.csv
fetch atlas --measurement MEASUREMENT --url API --start 2020-10-07T03:00 --stop 2020-10-07T04:00 --output OUT/fetched
watch --input OUT/new.jsonl --output OUT/alarms.jsonl --metrics OUT/watch.prom --report OUT/watch.html OUT/watch.json
slurm --input OUT/new/*.parquet --output OUT/cluster
score --checkpoint OUT/run --input OUT/atlas.parquet --output OUT/scored.parquet
`.trim().split("\n").map((line) => line.split(" ").flatMap((word) => WORDS[word] ?? word));

/** One access in the runtime's audit (DENO_AUDIT_PERMISSIONS). */
interface AuditedAccess {
  permission: string;
  value: string | null;
}

/**
 * The audited accesses that the permissions do not cover. Ignored are reads that a stage can do without: the
 * kernel's memory counter, the folders around an output (which must not be in an input) and manifests that do
 * not exist; the loading of modules, which works if the run works; and accesses without a value: the whole
 * permission, which is narrowed to start the thread.
 */
function beyond(auditPath: string, granted: Deno.PermissionOptionsObject): string[] {
  const covers = ({ permission, value }: AuditedAccess): boolean => {
    const kinds = granted[permission as keyof Deno.PermissionOptionsObject];
    if (value === null) return true;
    if (!Array.isArray(kinds)) return false;
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

Deno.test("no stage requests more permissions than it is granted", async (test) => {
  using folder = new TemporaryFolder();
  await using server = new ReplayServer();
  const out = folder.at("out");
  Deno.mkdirSync(out);
  Deno.writeTextFileSync(join(out, "queries.jsonl"), '{"src": "192.0.2.1", "dst": "198.51.100.7"}\n');
  const measurement = { src: PAIR[1], dst: PAIR[3], time: 1_600_000_000, rtt: 12.5 };
  Deno.writeTextFileSync(join(out, "new.jsonl"), `${JSON.stringify(measurement)}\n`);
  Deno.writeTextFileSync(join(out, "nodes.txt"), `${PAIR[1]}\n${PAIR[3]}\n`);
  for (const [index, line] of CHAIN.entries()) {
    const words = line.map((word) => word.replace(/^OUT/, out).replace(/^API$/, server.url));
    await test.step(line.filter((word) => !word.startsWith("-")).slice(0, 2).join(" "), async () => {
      const { command, rest } = commandOf(words);
      const granted = permissionsOf(command, rest) as Deno.PermissionOptionsObject;
      const audit = folder.at(`${index}.audit`);
      // With a path to read and write, however short, the audit distinguishes reads from writes.
      const flags = ["--allow-read=/", "--allow-write=/", "--allow-sys=systemMemoryInfo"];
      if (words[0] === "fetch") flags.push("--allow-net", "--allow-env=RIPE_ATLAS_KEY");
      await succeeded(runDeno([...flags, MAIN, ...words], { env: { DENO_AUDIT_PERMISSIONS: audit } }));
      assertEquals(beyond(audit, granted), []);
    });
  }
  const { truth } = JSON.parse(Deno.readTextFileSync(join(out, "eval/report.json")));
  assert(truth, "the truth of the synthetic Internet is found");
});
