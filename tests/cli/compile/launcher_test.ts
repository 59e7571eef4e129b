import { assert, assertEquals } from "@std/assert";
import { type LauncherParts, launcherScript, writeLauncher } from "../../../lib/cli/compile/launcher.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";

const quiet = { onProgress: () => {}, signal: new AbortController().signal };

function partsIn(folder: TemporaryFolder, content: string): LauncherParts {
  Deno.writeTextFileSync(folder.at("file"), content);
  const entries = [{ name: "program/file", path: folder.at("file") }];
  return { entries, flags: new Map([["train", ["--allow-read"]]]), version: "1.2.3", system: "Linux x86_64" };
}

Deno.test("writeLauncher() writes the same bytes for the same files, and another name for others", async () => {
  using folder = new TemporaryFolder();
  const first = await writeLauncher(folder.at("a"), partsIn(folder, "one"), quiet);
  const again = await writeLauncher(folder.at("b"), partsIn(folder, "one"), quiet);
  const other = await writeLauncher(folder.at("c"), partsIn(folder, "two"), quiet);
  assertEquals(again, first);
  assertEquals(Deno.readFileSync(folder.at("a")), Deno.readFileSync(folder.at("b")));
  assert(other.hash !== first.hash);
  assertEquals(first.sizeBytes, Deno.statSync(folder.at("a")).size);
});

Deno.test("launcherScript() says where the archive begins and how large the file is", () => {
  using folder = new TemporaryFolder();
  for (const payloadBytes of [1, 4_000, 123_456_789]) {
    const script = launcherScript(partsIn(folder, "one"), { hash: "ab", payloadBytes, unpackedBytes: 1 });
    const numberOf = (name: string) => Number(new RegExp(`^${name}=(\\d+) *$`, "m").exec(script)?.[1]);
    assertEquals(numberOf("offset_bytes"), new TextEncoder().encode(script).length);
    assertEquals(numberOf("size_bytes"), script.length + payloadBytes);
    assert(!/@[A-Z_]+@|undefined/.test(script), script);
  }
});
