/** `compile`: makes the program a single executable file. @module */
import { join } from "@std/path";
import { formatBytes } from "../lib/base/text.ts";
import { defineStage, serveStage, snakeKeys, type StageContext } from "../lib/cli/stage.ts";
import {
  collectProgram,
  dawnFiles,
  hashOfProgram,
  type Program,
  writeCompiled,
} from "../lib/cli/compile/program.ts";
import { writeLauncher } from "../lib/cli/compile/launcher.ts";
import { CHECKOUT } from "../lib/cli/own_program.ts";
import { denoFlagsOf } from "../lib/cli/stage_permissions.ts";
import { UsageError, UserError } from "../lib/base/errors.ts";
import { exists } from "../lib/io/files/inputs.ts";
import { readPage } from "../lib/serve/page_files.ts";
import { VERSION } from "../lib/base/version.ts";
import { madeText, makeOutputFile } from "./stage_files.ts";
import { compileCommand } from "./compile.command.ts";
import { DEMO_FILES } from "./demo.command.ts";
import { STAGE_MODULES, STAGES } from "./stages.ts";

/** The flags with which Deno starts each stage. @param dawn See `denoFlagsOf`. */
function flagsOf(dawn?: string): Program["flags"] {
  return new Map(Object.values(STAGES).map((stage) => [stage.name, denoFlagsOf(stage, dawn)]));
}

export const PROGRAM: Program = {
  root: CHECKOUT ?? "",
  main: "tasks/main.ts",
  stages: STAGE_MODULES,
  data: DEMO_FILES,
  flags: flagsOf(),
};
/** The output of `uname -sm` by Deno's build target. */
const SYSTEMS: Record<string, string> = {
  "x86_64-unknown-linux-gnu": "Linux x86_64",
  "aarch64-unknown-linux-gnu": "Linux aarch64",
  "x86_64-apple-darwin": "Darwin x86_64",
  "aarch64-apple-darwin": "Darwin arm64",
};

export const compileStage = defineStage(
  compileCommand,
  async ({ output, form, dawn, overwrite }, context) => {
    if (dawn && form === "compiled") {
      throw new UsageError(
        "Cannot use --dawn with --form compiled: a launcher unpacks Dawn's library to a file; leave out --form",
      );
    }
    if (CHECKOUT === undefined || !exists(join(CHECKOUT, "deno.lock"))) {
      throw new UserError(
        "Cannot compile: it needs the sources of this program; run deno task compile in a checkout",
      );
    }
    await readPage("compile");
    const start = {
      stage: "compile",
      inputs: [],
      options: { form, ...(dawn && { dawn }), program: hashOfProgram(PROGRAM) },
      overwrite,
      besides: () => [],
    };
    const run = await makeOutputFile(output, start, async ({ path, workPath }) => {
      const work = workPath("packages");
      return { counts: await make(path, { form: dawn ? "launcher" : form, dawn, work, context }) };
    });
    const { isDone, manifest, seconds } = run;
    const [{ sizeBytes }] = manifest.outputs;
    const json = {
      stage: "compile",
      ...snakeKeys(manifest.counts),
      size_bytes: sizeBytes,
      seconds,
      done_already: isDone,
      outputs: [output],
    };
    return { text: `${madeText(output, run)}: ${manifest.counts.form}, ${formatBytes(sizeBytes)}`, json };
  },
);

/** Makes the file in the first of the requested forms that is available. */
async function make(
  path: string,
  { form, dawn, work, context }: {
    form: "auto" | "compiled" | "launcher";
    dawn: boolean;
    work: string;
    context: StageContext;
  },
): Promise<{ form: string; hash?: string }> {
  const { signal } = context;
  if (form !== "launcher") {
    if (await writeCompiled(path, PROGRAM, signal)) return { form: "compiled" };
    const missing = "Deno's runtime stub (denort) is not available";
    if (form === "compiled") {
      throw new UserError(
        `Cannot compile: ${missing}, expected a network or DENORT_BIN; use --form launcher, which needs neither`,
      );
    }
    context.log(`${missing}: making a launcher`);
  }
  const system = SYSTEMS[Deno.build.target];
  if (!system) {
    throw new UserError(
      `Cannot make a launcher for ${Deno.build.target}: it has no POSIX shell; use --form compiled`,
    );
  }
  const libraries = dawn ? dawnFiles(PROGRAM) : [];
  const deno = { name: "deno", path: Deno.realPathSync(Deno.execPath()), isExecutable: true };
  const entries = [deno, ...await collectProgram(PROGRAM, work, signal), ...libraries];
  const total = entries.reduce((sum, entry) => sum + Deno.statSync(entry.path).size, 0);
  using progress = context.progress("packing", { total, unit: "B" });
  const parts = { entries, flags: dawn ? flagsOf("--allow-ffi") : PROGRAM.flags, version: VERSION, system };
  const { hash } = await writeLauncher(path, parts, { onProgress: (done) => progress.update(done), signal });
  return { form: "launcher", hash };
}

if (import.meta.main) serveStage(compileStage);
