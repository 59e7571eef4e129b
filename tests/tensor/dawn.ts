/** Whether tests can use Dawn. @module */
import { fromFileUrl, join } from "@std/path";
import { exists } from "../../lib/io/files/inputs.ts";

/** The folder of its package. */
export const DAWN = fromFileUrl(new URL("../../lib/tensor/dawn", import.meta.url));

/** Whether it is not installed, and a line about it. */
export function isDawnMissing(): boolean {
  if (exists(join(DAWN, "node_modules/webgpu"))) return false;
  console.log("skipped: Dawn was not found; deno task test:dawn installs it");
  return true;
}
