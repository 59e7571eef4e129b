/** Reads texts and shows the findings in a short form. @module */
import { FAILED_RTT_MS } from "../../../lib/data/formats/batch.ts";
import { type ReadingOptions, USUAL_READING } from "../../../lib/data/formats/format.ts";
import { type Found, MeasurementReader } from "../../../lib/data/formats/reader.ts";

/** For texts without a source. */
export const SOURCE = "192.0.2.77";
/** 2026-01-01. */
export const START_S = 1_767_225_600;
export const LOST = FAILED_RTT_MS;

export function foundInChunks(
  chunks: Iterable<Uint8Array>,
  path: string,
  options: ReadingOptions,
): Found[] {
  const found: Found[] = [];
  const reader = new MeasurementReader(path, options, (finding, line) => found.push({ finding, line }));
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return found;
}

export function foundIn(text: string, options: Partial<ReadingOptions> = {}): Found[] {
  const bytes = new TextEncoder().encode(text);
  return foundInChunks([bytes], "in.txt", { ...USUAL_READING, src: [SOURCE], ...options });
}

/** @param name A file of this folder. */
export function foundInFile(name: string, options: Partial<ReadingOptions> = {}): Found[] {
  const bytes = Deno.readFileSync(new URL(name, import.meta.url));
  return foundInChunks([bytes], name, { ...USUAL_READING, src: [SOURCE], ...options });
}

/** Destination, time in seconds (null if unknown) and RTTs of each row. */
export function rowsOf(found: readonly Found[]): [string, number | null, ...number[]][] {
  return found.flatMap(({ finding }) => {
    if (!("srcAddr" in finding)) return [];
    const timeS = Number.isNaN(finding.eventTimeUs) ? null : finding.eventTimeUs / 1e6;
    return [[finding.dstAddr, timeS, ...finding.rttsMs.map((rttMs) => Number(rttMs.toFixed(6)))]];
  });
}

export function rttsOf(found: readonly Found[]): number[] {
  return rowsOf(found).flatMap(([, , ...rttsMs]) => rttsMs);
}

/** Lost packets of all rows. */
export function lossesOf(found: readonly Found[]): number[] {
  return found.flatMap(({ finding }) => "srcAddr" in finding ? finding.numLost : []);
}

/** Findings other than rows: the line, and the kind or reason. */
export function othersOf(found: readonly Found[]): [number, string][] {
  return found.flatMap(({ finding, line }): [number, string][] => {
    if ("srcAddr" in finding) return [];
    return [[line, "skipped" in finding ? finding.skipped : finding.reason]];
  });
}

/** Without a byte order mark unless the text begins with one. */
export function utf16(text: string, isLittleEndian = true): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(2 * text.length));
  for (let i = 0; i < text.length; i++) view.setUint16(2 * i, text.charCodeAt(i), isLittleEndian);
  return new Uint8Array(view.buffer);
}
