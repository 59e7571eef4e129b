/**
 * Places that manifests name, which may be gone, or beyond what this process may read.
 *
 * @module
 */
import { exists } from "../files/inputs.ts";

/** Whether the path exists and may be read. */
export function isReadable(path: string): boolean {
  return Deno.permissions.querySync({ name: "read", path }).state === "granted" && exists(path);
}
