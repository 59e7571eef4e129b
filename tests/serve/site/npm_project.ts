/** A project that uses the npm package of a model. @module */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type ProcessResult, succeed } from "../../cli/process.ts";

const PAIR = { src: "192.0.2.1", dst: "198.51.100.7" };
/** Program lines that follow the example in the package's README, before the model is closed. */
const MORE = `const { nearest } = await model.nearest({ src: "192.0.2.1", candidates: ["198.51.100.7"] });
const fault = await model.rtt({ src: "nobody", dst: "::1" }).catch(({ message }) => message);
const { examples, step } = await model.model();
console.log(JSON.stringify([quantiles_ms, p_failed, nearest[0].median_ms, fault, examples.length > 0 && step]));
`;

export interface NpmProject {
  /** The example in the package's README, and more. */
  program: string;
  /** Checks the program's output. @param isExact Whether Deno's GPU is used; others round differently. */
  check(output: ProcessResult, isExact: boolean): void;
}

/** Exports a checkpoint as a package. @returns A project that uses it. */
export async function exportPackage(checkpoint: string, folder: string): Promise<NpmProject> {
  const { stdout } = await succeed("export", "--checkpoint", checkpoint, "--output", folder, "--form", "npm");
  assertStringIncludes(stdout, `run npm install --install-links ${folder}`);
  const asked = ["--src", PAIR.src, "--dst", PAIR.dst, "--json"];
  const query = JSON.parse((await succeed("query", "rtt", "--checkpoint", checkpoint, ...asked)).stdout);
  const [, example] = /```js\n([^]*?)```/.exec(Deno.readTextFileSync(`${folder}/README.md`)) ?? [];
  assertStringIncludes(Deno.readTextFileSync("lib/serve/site/README.md"), example);
  const program = example.replace("model.close();", (close) => MORE + close);
  const check = (output: ProcessResult, isExact: boolean) => {
    assertEquals(output.code, 0, output.stderr);
    const [quantilesMs, pFailed, medianMs, fault, step] = JSON.parse(output.stdout.split("\n")[1]);
    assertEquals(output.stdout.split("\n")[0], `${quantilesMs["0.5"]} ${pFailed}`);
    const found = [...Object.values<number>(quantilesMs), pFailed, medianMs];
    const expected = [
      ...Object.values<number>(query.quantiles_ms),
      query.p_failed,
      query.quantiles_ms["0.5"],
    ];
    // Another driver rounds differently, by at most one RTT code.
    found.forEach((value, i) =>
      assert(Math.abs(value / expected[i] - 1) <= (isExact ? 0 : 0.0016), output.stdout)
    );
    assertEquals(Object.keys(quantilesMs), Object.keys(query.quantiles_ms));
    assertStringIncludes(fault, 'found src "nobody", expected an IPv4 or IPv6 address or prefix');
    assertEquals(step, 3);
  };
  return { program, check };
}

export async function runIn(folder: string, program: string, ...args: string[]): Promise<ProcessResult> {
  const command = new Deno.Command(program, { args, cwd: folder, env: { NO_COLOR: "1" }, stdin: "null" });
  const { code, stdout, stderr } = await command.output();
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}
