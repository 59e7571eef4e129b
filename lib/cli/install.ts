/**
 * `deno task install`: writes `ping-llm`, a script that runs this checkout from any folder with its
 * configuration and locked packages. `deno install --global` (2.9.6) would copy deno.json without deno.lock.
 *
 * @module
 */
import { join } from "@std/path";
import { quoted } from "./cluster/chain.ts";
import { ownProgram } from "./own_program.ts";

if (import.meta.main) {
  const root = Deno.env.get("DENO_INSTALL_ROOT") ?? join(Deno.env.get("HOME") ?? "/", ".deno");
  const program = ["deno", ...ownProgram(["--allow-all", "--v8-flags=--expose-gc"])].map(quoted).join(" ");
  const path = join(root, "bin", "ping-llm");
  Deno.mkdirSync(join(root, "bin"), { recursive: true });
  Deno.writeTextFileSync(path, `#!/bin/sh\nDENO_NO_UPDATE_CHECK=1 exec ${program} "$@"\n`);
  Deno.chmodSync(path, 0o755);
  console.log(`Wrote ${path}; its folder must be on PATH`);
}
