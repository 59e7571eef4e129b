/**
 * `export`: a folder with the page and the model, which any web server can host; the model runs in the reader's browser.
 *
 * @module
 */
import { flag } from "../lib/cli/flags.ts";
import { defineStage, serveStage, type Stage, type StageResult } from "../lib/cli/stage.ts";
import { fingerprint } from "../lib/io/files/inputs.ts";
import { refuseOverlap } from "../lib/io/files/output_guard.ts";
import { StagedOutput } from "../lib/io/files/staged_output.ts";
import { readDescribedModel } from "../lib/serve/described_model.ts";
import { digestOfSite, type SiteContent, writeSite } from "../lib/serve/site/export_site.ts";
import { readSitePage } from "../lib/serve/site/page_bundle.ts";
import { SITE_DTYPES } from "../lib/serve/page/site_file.ts";
import { formatBytes } from "../lib/base/text.ts";
import { checkpointDirectory, modelFileOf } from "../lib/train/checkpoint.ts";
import { calibrationFlag, reportFlag } from "./query_options.ts";

/** The stage `export`. */
export const exportStage: Stage = defineStage({
  name: "export",
  purpose:
    "writes a folder with the page and the model, which any web server can host; the model runs in the " +
    "reader's browser.",
  example: "--checkpoint runs/demo/train --output site",
  flags: {
    checkpoint: flag.requiredText("a run directory, one of its checkpoints or an adapted one", {
      placeholder: "DIR",
    }),
    output: flag.requiredText("the folder to write", { placeholder: "DIR" }),
    dtype: flag.choice(
      SITE_DTYPES,
      "storage format of parameters: f16 has half the size and is less precise",
      {
        default: "f32",
      },
    ),
    calibration: calibrationFlag,
    report: reportFlag,
    overwrite: flag.boolean(
      "replace what this stage wrote to the output folder with other inputs or options",
    ),
  },
  async run({ checkpoint: path, output, dtype, overwrite, ...files }, stage): Promise<StageResult> {
    refuseOverlap(output, [checkpointDirectory(path)]);
    const { checkpoint, calibration, info } = readDescribedModel({ ...files, checkpoint: path }, stage.log);
    const content: SiteContent = { checkpoint, info, calibration: calibration?.shares ?? null, dtype };
    const page = readSitePage();
    using staged = StagedOutput.openFolder(output, {
      stage: "export",
      inputs: [fingerprint(modelFileOf(checkpoint.directory))],
      options: { dtype, content: digestOfSite(content, page) },
      overwrite,
    });
    const wasComplete = staged.isComplete;
    if (!wasComplete) {
      for (const name of writeSite(staged.folder, content, page)) await staged.record(name);
      staged.manifest.counts = { step: info.step, parameters: info.num_parameters };
      staged.publish();
    }
    const { outputs } = staged.manifest;
    const sizeBytes = outputs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    return {
      text: wasComplete
        ? `${output} is already complete, from the same inputs and options`
        : `Wrote ${output}: ${outputs.length} files, ${
          formatBytes(sizeBytes)
        }; put them on a web server, with https`,
      json: {
        stage: "export",
        step: info.step,
        dtype,
        sizeBytes,
        doneAlready: wasComplete,
        outputs: outputs.map(({ path }) => `${output}/${path}`),
      },
    };
  },
});

if (import.meta.main) serveStage(exportStage);
