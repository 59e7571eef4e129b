import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { LocalRegistry } from "./local_registry.ts";

Deno.test("deno publish includes what a user needs and nothing else", async () => {
  await using registry = await LocalRegistry.of(fromFileUrl(new URL("../../", import.meta.url)));
  const top = new Set(registry.files.map((path) => path.split("/")[1]));
  const needed = ["LICENSE", "README.md", "configs", "deno.json", "kernels", "lib", "mod.ts", "tasks"];
  assertEquals([...top].sort(), needed);
  // It is published although git ignores it.
  assert(registry.files.includes("/lib/serve/page_bundle.json"));
  assertEquals(registry.files.filter((path) => /\.tsx$|_test\.ts$|golden|\.(py|lock)$/.test(path)), []);
});
