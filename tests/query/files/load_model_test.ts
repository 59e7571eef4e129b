import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { loadModel } from "../../../lib/query/files/load_model.ts";
import { checkpointDirectory } from "../../../lib/train/checkpoint.ts";
import { withRowCheckpoint } from "../adapt/row_checkpoint.ts";

Deno.test("loadModel() says that it uses an earlier checkpoint, where the latest is damaged", () =>
  withRowCheckpoint(async (at) => {
    const earlier = checkpointDirectory(at("run"));
    const latest = join(earlier, "..", "step-00000004");
    Deno.mkdirSync(latest);
    for (const { name } of Deno.readDirSync(earlier)) {
      Deno.copyFileSync(join(earlier, name), join(latest, name));
    }
    Deno.writeTextFileSync(join(latest, "..", "latest"), "step-00000004\n");
    const lines: string[] = [];
    const load = async () => (await loadModel(at("run"), { onLog: (line) => lines.push(line) })).close();
    await load();
    assertEquals(lines, []);
    Deno.truncateSync(join(latest, "model.safetensors"), 1000);
    await load();
    assertEquals(lines.length, 1);
    assertMatch(
      lines[0],
      /^Cannot read \S+step-00000004\/model\.safetensors: .*; using \S+step-00000003 instead$/,
    );
  }));
