import { assertAlmostEquals, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { exists } from "../../lib/io/files/inputs.ts";
import { runDeno } from "../cli/process.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";

const [DAWN, ANSWER, PACKAGE] = ["dawn.ts", "dawn_answer.ts", "dawn/node_modules/webgpu"].map((name) =>
  fromFileUrl(new URL(name, import.meta.url))
);

function hasDawn(): boolean {
  if (exists(PACKAGE)) return true;
  console.log("skipped: Dawn was not found; deno task test:dawn installs it");
  return false;
}

async function answerOf(checkpoint: string, flags: string[]) {
  const { code, stdout, stderr } = await runDeno(["--allow-read", ...flags, ANSWER, checkpoint]);
  assertEquals(code, 0, stderr);
  const { implementation, numbers }: { implementation: string; numbers: number[] } = JSON.parse(stdout);
  return { implementation, numbers };
}

Deno.test(
  "Dawn gives a model's answers as Deno's WebGPU does",
  { ignore: !hasDawn() },
  () =>
    withCheckpoint(async (_, checkpoint) => {
      const deno = await answerOf(checkpoint, []);
      const dawn = await answerOf(checkpoint, ["--allow-ffi", "--allow-env", `--preload=${DAWN}`]);
      assertEquals([deno.implementation, dawn.implementation], ["Deno", "Dawn"]);
      deno.numbers.forEach((number, i) => assertAlmostEquals(dawn.numbers[i], number, 1e-5 * number));
    }, { scale: 3 }),
);
