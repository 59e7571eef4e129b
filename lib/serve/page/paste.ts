/** Reads pasted pings in any known format. @module */
import { UserError } from "../../base/errors.ts";
import { parseAddress } from "../../data/addresses/ip.ts";
import { type Finding, messageOf, type Rejection, USUAL_READING } from "../../data/formats/format.ts";
import { type Found, MeasurementReader } from "../../data/formats/reader.ts";
import { type Reading, readingLines } from "../../data/formats/reading.ts";
import { FORMATS } from "../../data/formats/registry.ts";
import { FAILED_RTT_MS } from "../../data/formats/batch.ts";
import type { ApiMeasurement } from "../../query/questions/question.ts";

/** A measurement; `line` counts from 1. */
export type PastedPing = ApiMeasurement & { time: number | null; line: number };

export interface Pasted {
  format: string;
  /** How the text is read, as lines. */
  reading: string[];
  /** Whether pings are left out because neither the text nor the options state their source. */
  needsSource: boolean;
  /** In time order; pings without a time come first. */
  pings: PastedPing[];
  faults: { line: number; message: string }[];
}

/** Labels of the fields that take what an option takes. */
export const FIELD_LABELS = {
  src: "Source",
  dst: "Destination",
  columns: "Columns",
  zone: "Time zone",
} as const;

export interface PasteOptions {
  /** Source of pings that do not state theirs; empty if unknown. */
  source: string;
  /** Destination of rows that do not state theirs; empty if unknown. */
  destination?: string;
  /** When the last ping was sent, Unix seconds; null if unknown. */
  endTimeS: number | null;
  columns?: ReadonlyMap<string, string> | undefined;
  /** The zone of times that state none; UTC by default. */
  zone?: string | undefined;
}

/** Names the page's fields instead of options: `Columns: src=1` for `--columns src=1`. */
export function withFields(text: string): string {
  return text.replace(
    /--(src|dst|columns|zone)\b( ?)/g,
    (_, name: keyof typeof FIELD_LABELS, space) => FIELD_LABELS[name] + (space && ": "),
  );
}

/** Advice is left out if it needs options for which the page has no field. */
function messageFor(rejection: Rejection): string {
  const advice = withFields(rejection.advice ?? "");
  return messageOf(rejection) + (advice === "" || advice.includes("--") ? "" : `; ${advice}`);
}

export function parsePaste(
  text: string,
  { source, destination = "", endTimeS, columns, zone }: PasteOptions,
): Pasted {
  const found: Found[] = [];
  const said = new Set<string>();
  const [src, dst] = [source, destination].map((text) => parseAddress(text) ? [text] : undefined);
  const reading = {
    ...USUAL_READING,
    src,
    dst,
    columns,
    zone,
    onReading: (each: Reading) => readingLines(each).forEach((line) => said.add(withFields(line))),
  };
  const take = (finding: Finding, line: number) => void found.push({ finding, line });
  const reader = new MeasurementReader("the pasted text", reading, take);
  readInto(found, text, reader);
  const title = FORMATS.find(({ name }) => name === reader.format)?.title ?? "JSON";
  const format = title[0].toUpperCase() + title.slice(1);
  const pasted: Pasted = { format, reading: [...said], needsSource: false, pings: [], faults: [] };
  for (const { finding, line } of found) {
    if ("skipped" in finding) {
      pasted.faults.push({ line, message: `it does not measure a path: ${finding.skipped}` });
    } else if ("reason" in finding) {
      pasted.needsSource ||= finding.end === "src";
      pasted.faults.push({ line, message: messageFor(finding) });
    } else {
      for (const rttMs of finding.rttsMs) {
        const { srcAddr: src, dstAddr: dst, eventTimeUs } = finding;
        const time = Number.isNaN(eventTimeUs) ? null : eventTimeUs / 1e6;
        const rtt = rttMs === FAILED_RTT_MS ? null : rttMs;
        pasted.pings.push({ src, dst, time, rtt, line });
      }
    }
  }
  const { pings } = pasted;
  // By default, `ping` sends one per second.
  if (endTimeS !== null && ["ping", "fping"].includes(reader.format ?? "")) {
    pings.forEach((ping, i) => ping.time ??= endTimeS - (pings.length - 1 - i));
  }
  pings.sort((a, b) => (a.time ?? 0) - (b.time ?? 0));
  return pasted;
}

/** Reads a text. A fault that stops reading becomes the last finding. */
function readInto(found: Found[], text: string, reader: MeasurementReader): void {
  try {
    reader.push(new TextEncoder().encode(text));
    reader.end();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const finding: Rejection = {
      ...error.fault,
      reason: "unknownLine",
      found: error.fault?.found ?? error.message,
    };
    found.push({ finding, line: found.length === 0 ? 1 : text.trimEnd().split("\n").length });
  }
}
