/** `deno task install` puts the program on the path; it may fetch packages. */
import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { outputOf, type ProcessResult, runStageProcess, succeeded } from "./process.ts";

const ROOT = fromFileUrl(new URL("../../", import.meta.url));

function run(
  program: string,
  args: readonly string[],
  options: { cwd: string; env: Record<string, string> },
): Promise<ProcessResult> {
  return outputOf(
    new Deno.Command(program, { args: [...args], ...options, stdout: "piped", stderr: "piped" }).spawn(),
  );
}

Deno.test("deno task install creates a ping-llm that works in any folder as deno task does", async () => {
  using folder = new TemporaryFolder();
  Deno.mkdirSync(folder.at("work"));
  const env = { DENO_INSTALL_ROOT: folder.at("root"), NO_COLOR: "1" };
  await succeeded(run(Deno.execPath(), ["task", "install"], { cwd: ROOT, env }));
  const program = folder.at("root/bin/ping-llm");
  const pingLlm = (...args: string[]) => run(program, args, { cwd: folder.at("work"), env });

  const same = [["--version"], ["--help"], ["query", "rtt", "--help"], ["completion", "fish"]];
  const refused = [["trian"], ["synth", "--sede", "1"], ["inspect", "missing.parquet"]];
  for (const args of [...same, ...refused]) {
    assertEquals(await pingLlm(...args), await runStageProcess(args), args.join(" "));
  }
  for (const [place, start] of [["made", pingLlm], [folder.at("checkout"), stage]] as const) {
    await succeeded(start("synth", "--rows", "2000", "--output", `${place}/synth.parquet`));
    const rows = ["--input", `${place}/synth.parquet`, "--output", `${place}/rows`, "--split-by", "row"];
    await succeeded(start("probe-rows", ...rows, "--workers", "2"));
  }
  assertEquals(
    Deno.readFileSync(folder.at("work/made/synth.parquet")),
    Deno.readFileSync(folder.at("checkout/synth.parquet")),
  );
  await succeeded(pingLlm("train", "--data", "made/rows", "--run", "run", "--steps", "2"));
  await succeeded(
    pingLlm("query", "rtt", "--checkpoint", "run", "--src", "192.0.2.1", "--dst", "198.51.100.7"),
  );
});

function stage(...args: string[]): Promise<ProcessResult> {
  return runStageProcess(args);
}
