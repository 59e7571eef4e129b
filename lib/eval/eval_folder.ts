/**
 * The folder of an evaluation: `report.json`, `report.html`, `manifest.json`. They appear together at the end. An
 * interrupted evaluation starts again.
 *
 * @module
 */
import { join } from "@std/path";
import { FormatError } from "../base/errors.ts";
import { writeFileAtomic, writeJsonAtomic } from "../io/files/atomic.ts";
import { fingerprint, listInputs, readText } from "../io/files/inputs.ts";
import { StagedOutput } from "../io/files/staged_output.ts";
import { modelFilesOf } from "../train/checkpoint.ts";
import type { EvaluateOptions } from "./evaluate.ts";
import { evalPage } from "./page/eval_page.ts";
import type { EvalReport } from "./report.ts";

const JSON_NAME = "report.json";
const HTML_NAME = "report.html";

/** An evaluation's folder, which this process alone writes until it is disposed of. */
export class EvalFolder implements Disposable {
  readonly jsonPath: string;
  readonly htmlPath: string;
  readonly #output: StagedOutput;

  private constructor(path: string, output: StagedOutput) {
    this.jsonPath = join(path, JSON_NAME);
    this.htmlPath = join(path, HTML_NAME);
    this.#output = output;
  }

  /**
   * Opens the folder for an evaluation, making it if needed.
   *
   * @param options The evaluation, of one checkpoint's folder; `overwrite`: the reports of another evaluation are
   *   replaced instead of refused.
   * @throws {UserError} If it holds another run's files, or the checkpoint or the rows are not there.
   */
  static open(path: string, { overwrite, ...options }: EvaluateOptions & { overwrite: boolean }): EvalFolder {
    const rows = [...new Set([options.dataDir, options.trainDir ?? options.dataDir])];
    const files = listInputs(rows, { extensions: [".arrayrecord"], wanted: "probe rows" });
    const places = (options.geo ?? []).map((path) => fingerprint(path));
    const output = StagedOutput.openFolder(path, {
      stage: "eval",
      inputs: [
        ...[...modelFilesOf(options.checkpoint), ...files].map((file) => fingerprint(file)),
        ...places,
      ],
      // Undefined values are absent in a manifest that was read again.
      options: Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
      overwrite,
    });
    return new EvalFolder(path, output);
  }

  /** The report of the same evaluation, if it is complete. */
  earlier(): EvalReport | undefined {
    if (!this.#output.isComplete) return undefined;
    try {
      return JSON.parse(readText(this.jsonPath));
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      const path = this.jsonPath;
      throw new FormatError("it is no report; run eval again with --overwrite", { path, cause });
    }
  }

  /** Writes both reports and the manifest. */
  async write(report: EvalReport): Promise<void> {
    const { folder, manifest } = this.#output;
    writeJsonAtomic(join(folder, JSON_NAME), report);
    writeFileAtomic(join(folder, HTML_NAME), await evalPage(report));
    for (const name of [JSON_NAME, HTML_NAME]) await this.#output.record(name);
    manifest.counts = { measurements: report.run.numMeasurements };
    this.#output.publish();
  }

  [Symbol.dispose](): void {
    this.#output[Symbol.dispose]();
  }
}
