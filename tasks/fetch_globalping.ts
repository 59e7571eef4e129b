/**
 * `fetch globalping`: ping measurements of Globalping, created or read by their ids, and where their probes are.
 *
 * @module
 */
import { join } from "@std/path";
import { zstdCompressSync } from "node:zlib";
import { shortened, UsageError } from "../lib/base/errors.ts";
import { formatCount } from "../lib/base/text.ts";
import { ApiClient, parseBase, readKey } from "../lib/cli/fetch/api_client.ts";
import { createPing, endedPing, GlobalpingPlaces, isId } from "../lib/cli/fetch/globalping.ts";
import { parseDurationS } from "../lib/cli/options.ts";
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import { openInput } from "../lib/io/compression/decompress.ts";
import { writeFileAtomic, writeJsonAtomic } from "../lib/io/files/atomic.ts";
import { exists, readText } from "../lib/io/files/inputs.ts";
import { StagedOutput } from "../lib/io/files/staged_output.ts";
import { GLOBALPING_KEY, STAGES } from "./stages.ts";

const PLACES = ["places.csv", "networks.csv"] as const;

export const fetchGlobalpingStage: Stage = defineStage(
  STAGES.fetch.kinds.globalping,
  async (options, context) => {
    const startMs = performance.now();
    const { id: ids, target: targets, output: folder, overwrite, url } = options;
    const { from: locations, limit, packets, ipVersion } = options;
    if (ids.length === 0 && targets.length === 0) {
      throw new UsageError(
        "Cannot run: found neither --id nor --target, expected what to fetch or to measure; add one",
      );
    }
    const wrong = ids.find((id) => !isId(id));
    if (wrong !== undefined) {
      throw new UsageError(`Cannot use --id ${shortened(wrong)}: expected the id of a measurement`);
    }
    const key = readKey(options.keyFile, GLOBALPING_KEY);
    const timeoutMs = 1000 * parseDurationS(options.timeout, "timeout");
    const { signal, log } = context;
    const authorization = key && `Bearer ${key}`;
    const client = new ApiClient({ base: parseBase(url), authorization, timeoutMs, signal, log });
    const request = { locations, limit, packets, ipVersion };
    const identity = {
      ids,
      targets,
      ...(targets.length > 0 && { ...request, ipVersion: ipVersion ?? "any" }),
      url,
    };
    const started = { stage: "fetch globalping", inputs: [], options: identity, overwrite };
    using output = StagedOutput.openFolder(folder, started);
    const { manifest } = output;
    const isDone = output.isComplete;
    if (!isDone) {
      // The ids of what was created are kept before their results are: a continued run creates nothing twice.
      const createdPath = output.workPath("created.json");
      const created: Record<string, string> = exists(createdPath) ? JSON.parse(readText(createdPath)) : {};
      const total = ids.length + 2 * targets.length;
      using progress = context.progress("fetching", { total, unit: "answers" });
      for (const [i, target] of targets.entries()) {
        progress.update(i, target);
        if (Object.hasOwn(created, target)) continue;
        created[target] = await createPing(client, target, request);
        writeJsonAtomic(createdPath, created);
      }
      manifest.counts = { created };
      const places = new GlobalpingPlaces();
      const wanted = [...new Set([...ids, ...Object.values(created)])];
      for (const [i, id] of wanted.entries()) {
        progress.update(targets.length + i, id);
        const name = `results/${id}.json.zst`;
        const path = join(output.folder, name);
        if (output.finished(name)) {
          places.add(JSON.parse(await readAll(path)));
          continue;
        }
        const { bytes, measurement } = await endedPing(client, id, timeoutMs);
        writeFileAtomic(path, zstdCompressSync(bytes));
        await output.record(name, { results: (measurement.results as unknown[]).length });
        output.save();
        places.add(measurement);
      }
      places.write(join(output.folder, PLACES[0]), join(output.folder, PLACES[1]));
      for (const name of PLACES) await output.record(name, { networks: places.size });
      output.publish();
    }
    const results = manifest.outputs.reduce((sum, { counts }) => sum + (counts?.results ?? 0), 0);
    const input = join(folder, "results");
    const geo = PLACES.map((name) => join(folder, name));
    const seconds = (performance.now() - startMs) / 1000;
    const json = {
      stage: "fetch globalping",
      results,
      measurements: manifest.outputs.filter(({ counts }) => counts?.results !== undefined).length,
      created: manifest.counts.created ?? {},
      networks: output.finished(PLACES[0])?.counts?.networks ?? 0,
      doneAlready: isDone,
      input,
      geo,
      seconds,
    };
    const text = [
      `${
        isDone ? `${folder} has everything already` : `Fetched ${json.measurements} measurements to ${folder}`
      }: ` +
      `${formatCount(results)} results of ${formatCount(json.networks)} networks and cities`,
      `  next  deno task import --source network --input ${input} --output ${
        folder.replace(/\/+$/, "")
      }.parquet`,
      `        deno task train … --geo ${geo.join(" ")}`,
    ].join("\n");
    return { text, json };
  },
);

async function readAll(path: string): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of (await openInput(path)).chunks) text += decoder.decode(chunk, { stream: true });
  return text;
}

if (import.meta.main) serveStage(fetchGlobalpingStage);
