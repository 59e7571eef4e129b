/**
 * Where this program was loaded from: a checkout, a registry of packages, or an executable file with everything in it.
 *
 * @module
 */
import { dirname, fromFileUrl } from "@std/path";

const ROOT = new URL("../../", import.meta.url);

/** The host of the registry that the program was loaded from, with its port; undefined of a program in files. */
export const REGISTRY_HOST: string | undefined = ROOT.protocol === "file:"
  ? undefined
  : `${ROOT.hostname}:${ROOT.port || "443"}`;

/** The folder of the checkout that the program was loaded from; undefined of any other program. */
export const CHECKOUT: string | undefined = REGISTRY_HOST !== undefined || Deno.build.standalone
  ? undefined
  : dirname(fromFileUrl(new URL("deno.json", ROOT)));

/**
 * The arguments of Deno that start this program again.
 *
 * @param flags Further flags of `deno run`; an executable file has its own.
 */
export function ownProgram(flags: readonly string[]): string[] {
  if (Deno.build.standalone) return [];
  // A package's own imports and versions hold without a configuration, and the user's must not change them.
  const config = CHECKOUT === undefined
    ? ["--quiet", "--no-config", "--no-lock", "--unstable-worker-options"]
    : ["--config", fromFileUrl(new URL("deno.json", ROOT))];
  return ["run", "--no-prompt", ...config, ...flags, new URL("tasks/main.ts", ROOT).href];
}
