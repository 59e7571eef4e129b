/** Whether tests can use Dawn. @module */
import { fromFileUrl, join } from "@std/path";
import { exists } from "../../lib/io/files/inputs.ts";

/** The folder of the npm package. */
export const DAWN = fromFileUrl(new URL("../../lib/tensor/dawn", import.meta.url));

/** Whether Dawn is not installed; if so, prints a note. */
export function isDawnMissing(): boolean {
  if (exists(join(DAWN, "node_modules/webgpu"))) return false;
  console.log("skipped: Dawn was not found; deno task test:dawn installs it");
  return true;
}
