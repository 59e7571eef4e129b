/**
 * `export`: writes a folder with the page and the model, which any web server can host; the model runs in the
 * reader's browser.
 *
 * @module
 */
import { defineStage, serveStage, type StageResult } from "../lib/cli/stage.ts";
import { withSmallerMemory } from "../lib/model/pool/pair_memory.ts";
import { openNames } from "../lib/data/addresses/places/open_names.ts";
import { fingerprint } from "../lib/io/files/inputs.ts";
import { refuseOverlap } from "../lib/io/files/real_path.ts";
import { Output } from "../lib/io/files/output.ts";
import { readDescribedModel } from "../lib/serve/described_model.ts";
import { npmPackage } from "../lib/serve/site/npm_package.ts";
import { digestOfSite, siteCheckpoint, type SiteContent, writeSite } from "../lib/serve/site/export_site.ts";
import { readPage, siteFiles } from "../lib/serve/page_files.ts";
import { formatBytes } from "../lib/base/text.ts";
import { checkpointDirectory, modelFilesOf } from "../lib/train/checkpoint.ts";
import { madeText } from "./stage_files.ts";
import { exportCommand } from "./export.command.ts";

export const exportStage = defineStage(
  exportCommand,
  async (
    { checkpoint: path, output, form, dtype, noPool, memoryMb, names, overwrite, ...files },
    stage,
  ): Promise<StageResult> => {
    const bundled = await readPage("export");
    refuseOverlap(output, [checkpointDirectory(path)]);
    const described = await readDescribedModel({ ...files, noPool, checkpoint: path }, stage.log);
    if (described.checkpoint.config.model.places) stage.log("fitting the places of addresses into 3 MiB");
    const checkpoint = siteCheckpoint(described.checkpoint);
    const info = { ...described.info, config: { ...checkpoint.config } };
    const content: SiteContent = {
      checkpoint,
      pool: noPool || !checkpoint.pool ? undefined : withSmallerMemory(checkpoint.pool, memoryMb),
      info,
      calibration: described.calibration?.shares ?? null,
      dtype,
      names: await openNames(names),
    };
    const page = form === "npm" ? npmPackage(info, bundled) : siteFiles(bundled);
    using staged = Output.openFolder(output, {
      stage: "export",
      inputs: modelFilesOf(checkpoint.directory).map((file) => fingerprint(file)),
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
      text: `${madeText(output, { isDone: wasComplete })}: ${outputs.length} files, ${
        formatBytes(sizeBytes)
      }; ${
        form === "npm" ? `run npm install --install-links ${output}` : "put them on a web server, with https"
      }`,
      json: {
        stage: "export",
        step: info.step,
        dtype,
        size_bytes: sizeBytes,
        done_already: wasComplete,
        outputs: outputs.map(({ path }) => `${output}/${path}`),
      },
    };
  },
);

if (import.meta.main) serveStage(exportStage);
