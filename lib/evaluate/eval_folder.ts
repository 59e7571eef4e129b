/**
 * The folder that an evaluation writes: `report.json`, `report.html`, `manifest.json`. The reports appear whole, at
 * the end; an evaluation that was interrupted starts over.
 *
 * @module
 */
import { join } from "@std/path";
import { FormatError } from "../errors.ts";
import { removeStaleTemporaries, writeFileAtomic, writeJsonAtomic } from "../files/atomic.ts";
import { exists, fingerprint, listInputs, readText } from "../files/inputs.ts";
import {
  describeOutput,
  type Manifest,
  newManifest,
  openOutputFolder,
  writeManifest,
} from "../files/manifest.ts";
import type { EvaluateOptions } from "./evaluate.ts";
import { evalPage } from "./page/eval_page.ts";
import type { EvalReport } from "./report.ts";

/** An evaluation's folder. */
export class EvalFolder {
  readonly jsonPath: string;
  readonly htmlPath: string;
  readonly #manifest: Manifest;
  readonly #isDone: boolean;

  private constructor(readonly path: string, manifest: Manifest, isDone: boolean) {
    this.jsonPath = join(path, "report.json");
    this.htmlPath = join(path, "report.html");
    this.#manifest = manifest;
    this.#isDone = isDone && exists(this.jsonPath) && exists(this.htmlPath);
  }

  /**
   * Opens the folder for an evaluation, making it if needed.
   *
   * @param options What is evaluated, of one checkpoint's folder; `overwrite`: another run's files are deleted instead of refused.
   * @throws {UserError} If it holds another run's files, or the checkpoint or the rows are not there.
   */
  static open(path: string, { overwrite, ...options }: EvaluateOptions & { overwrite: boolean }): EvalFolder {
    const rows = [...new Set([options.dataDir, options.trainDir ?? options.dataDir])];
    const files = listInputs(rows, { extensions: [".arrayrecord"], wanted: "probe rows" });
    const studies = options.encodings === undefined ? [] : [options.encodings];
    const manifest = newManifest({
      stage: "eval",
      inputs: [join(options.checkpoint, "model.safetensors"), ...files, ...studies].map(fingerprint),
      // What is undefined is absent in a manifest that was read again.
      options: Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
    });
    const earlier = openOutputFolder(path, manifest, { overwrite });
    removeStaleTemporaries(path);
    return new EvalFolder(path, earlier ?? manifest, earlier?.complete ?? false);
  }

  /** What the same evaluation gave earlier, if it came to its end. */
  earlier(): EvalReport | undefined {
    if (!this.#isDone) return undefined;
    try {
      return JSON.parse(readText(this.jsonPath)) as EvalReport;
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      throw new FormatError("it is no report; run eval again with --overwrite", {
        path: this.jsonPath,
        cause,
      });
    }
  }

  /** Writes both reports and completes the manifest. */
  async write(report: EvalReport): Promise<void> {
    const html = await evalPage(report);
    writeJsonAtomic(this.jsonPath, report);
    writeFileAtomic(this.htmlPath, html);
    const outputs = [];
    for (const name of ["report.json", "report.html"]) outputs.push(await describeOutput(this.path, name));
    const counts = { measurements: report.run.numMeasurements };
    writeManifest(join(this.path, "manifest.json"), { ...this.#manifest, counts, outputs, complete: true });
  }
}
