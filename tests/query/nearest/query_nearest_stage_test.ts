import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { refused, runStageProcess, succeeded } from "../../cli/process.ts";
import { withCheckpoint } from "../tiny_checkpoint.ts";

Deno.test("query nearest ranks the candidates of a file, and says the medians of query rtt", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const [file, output] = [join(folder, "candidates.txt"), join(folder, "nearest.jsonl")];
    const candidates = ["198.51.100.7", "198.51.100.9", "203.0.113.5", "10.0.0.0/8"];
    Deno.writeTextFileSync(file, candidates.join("\n"));
    const args = ["query", "nearest", "--checkpoint", checkpoint, "--src", "192.0.2.1", "--candidates", file];
    const options = ["--time", "2025-06-01", "--draws", "4", "--top", "3"];
    const { stdout } = await succeeded(runStageProcess([
      ...args,
      ...options,
      "--json",
      "--output",
      output,
    ]));
    const answer = JSON.parse(stdout);
    assertEquals([answer.candidates, answer.nearest.length, answer.timeS], [4, 3, 1748736000]);
    const lines = Deno.readTextFileSync(output).trimEnd().split("\n").map((line) => JSON.parse(line));
    assertEquals(lines, answer.nearest);
    const { candidate, medianMs, meanMs } = lines.find((line) => !line.candidate.includes("/"));
    const pair = ["--src", "192.0.2.1", "--dst", candidate, "--time", "2025-06-01", "--json"];
    const alone = JSON.parse(
      (await runStageProcess(["query", "rtt", "--checkpoint", checkpoint, ...pair])).stdout,
    );
    assertEquals([medianMs, meanMs], [alone.quantilesMs["0.5"], alone.meanMs]);
    const text = await succeeded(runStageProcess([...args, ...options, "--by", "probability"]));
    assertStringIncludes(text.stdout, "P(nearest)");
    assert(candidates.includes(text.stdout.split("\n")[1].split(" ")[0]), text.stdout);
  }));

Deno.test("query nearest refuses a line that is no address, by its number, and too many candidates", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const file = join(folder, "candidates.txt");
    Deno.writeTextFileSync(file, "198.51.100.7\n\nnowhere\n");
    const args = ["query", "nearest", "--checkpoint", checkpoint, "--src", "192.0.2.1", "--candidates", file];
    for (
      const [more, exitCode, message] of [
        [[], 1, `Cannot compare the candidates of ${file}: line 3: dst: Cannot read "nowhere"`],
        [["--max-candidates", "1", "--src", "10.0.0.0/40"], 2, "Cannot use --src 10.0.0.0/40"],
      ] as const
    ) {
      const given = more.length > 0 ? args.filter((arg) => arg !== "--src" && arg !== "192.0.2.1") : args;
      await refused(runStageProcess([...given, ...more]), exitCode, message);
    }
  }));
