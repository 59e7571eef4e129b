/**
 * Where this program was loaded from: a checkout, a package registry, or an executable file that contains
 * everything.
 *
 * @module
 */
import { dirname, fromFileUrl } from "@std/path";

const ROOT = new URL("../../", import.meta.url);

/** The host and port of the registry that the program was loaded from; undefined if loaded from files. */
export const REGISTRY_HOST: string | undefined = ROOT.protocol === "file:"
  ? undefined
  : `${ROOT.hostname}:${ROOT.port || "443"}`;

/** The checkout that the program was loaded from; undefined if loaded from elsewhere. */
export const CHECKOUT: string | undefined = REGISTRY_HOST !== undefined || Deno.build.standalone
  ? undefined
  : dirname(fromFileUrl(new URL("deno.json", ROOT)));

/**
 * The Deno arguments that start this program again.
 *
 * @param flags Further flags of `deno run`, ignored for an executable, whose flags are built in.
 */
export function ownProgram(flags: readonly string[]): string[] {
  if (Deno.build.standalone) return [];
  // A package's imports and versions need no configuration, and the user's must not change them.
  const config = CHECKOUT === undefined
    ? ["--quiet", "--no-config", "--no-lock", "--unstable-worker-options"]
    : ["--config", fromFileUrl(new URL("deno.json", ROOT))];
  return ["run", "--no-prompt", ...config, ...flags, new URL("tasks/main.ts", ROOT).href];
}
