/**
 * The fingerprint of a run's data, so that a run is not resumed on other data.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { relative } from "@std/path";
import { fingerprint, listInputs } from "../files/inputs.ts";
import { readManifests } from "../files/task_manifests.ts";
import { ArrayRecordReader } from "../array_record/reader.ts";

/**
 * How many chunks of a file are hashed, each a probe row, if no manifest has its checksum; 20 ms on a core of a shared
 * server.
 */
const MAX_CHUNKS = 4096;

/**
 * Fingerprints the probe rows of a folder: names, sizes and checksums of its files. Checksums come from the folder's
 * manifests, or else from the headers of the files' chunks. Neither modification times nor the number of tasks that wrote
 * the folder count, so a copy has the same fingerprint.
 *
 * @param folder A folder as `probe-rows` writes it.
 * @returns 16 hexadecimal digits.
 * @throws {UserError} If it holds no probe rows.
 * @throws {FormatError} If a file without checksum is no ArrayRecord file.
 */
export async function dataFingerprint(folder: string): Promise<string> {
  const outputs = readManifests(folder).flatMap(({ manifest }) => manifest.outputs);
  const checksums = new Map(outputs.map(({ path, sha256 }) => [path, sha256]));
  const files = listInputs([folder], { extensions: [".arrayrecord"], wanted: "probe rows" });
  const hash = createHash("sha256");
  for (const file of files) {
    const name = relative(folder, file).replaceAll("\\", "/");
    hash.update(
      JSON.stringify([name, fingerprint(file).sizeBytes, checksums.get(name) ?? await chunksChecksum(file)]),
    );
  }
  return hash.digest("hex").slice(0, 16);
}

async function chunksChecksum(path: string): Promise<string> {
  using reader = await ArrayRecordReader.open(path);
  const hash = createHash("sha256");
  for (const header of reader.chunkHeaders(MAX_CHUNKS)) hash.update(header);
  return hash.digest("hex");
}
