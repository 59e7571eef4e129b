/**
 * The RRDs of SmokePing and LibreNMS, exported by `rrdtool xport --json` with or without `--showtime`.
 *
 * A row is a round of pings. Its time is the end of its step, as rrdtool defines it, and `meta.start` is the
 * time of the first row. Legends identify the columns:
 *
 * | legend                            | column                                                   |
 * | --------------------------------- | -------------------------------------------------------- |
 * | contains `median`, `rtt` or `avg` | RTT in seconds, or in its unit, as in `median [ms]`; not `min rtt` |
 * | contains `loss`                   | number of lost pings, or their share if it ends in `%`   |
 * | `xmt`, `rcv`                      | numbers of pings and replies; the RTT beside them is in ms, as fping prints it |
 *
 * `--columns rtt=LEGEND`, or another key of an RTT, names the RTT column and its unit. An RRD does not record
 * its source and destination.
 *
 * @module
 */
import { shortened } from "../../base/errors.ts";
import { type Finding, type Format, type JsonObject, objectOf, type ReadingOptions } from "./format.ts";
import { constantWords, type Reading } from "./reading.ts";
import { isOtherStatistic, KEY_UNITS, layoutOf, TableRows, unitIn } from "./table.ts";

/** Pings per round, unless a column contains their number. */
const NUM_PINGS = 20;

export const smokeping: Format = {
  name: "smokeping",
  title: "SmokePing by rrdtool xport --json",
  json: {
    isResult({ meta, data }) {
      const { step, legend } = objectOf(meta);
      return Array.isArray(data) && typeof step === "number" && Array.isArray(legend);
    },
    reading: (object, options) => readingOf(namesOf(object), options),
    findings: findingsOf,
  },
};

function namesOf({ meta }: JsonObject): string[] {
  return (objectOf(meta).legend as unknown[]).map(String);
}

function readingOf(names: readonly string[], options: ReadingOptions): Reading {
  const { rtt, unit, loss, sent, received } = columnsOf(names, options);
  return {
    format: "smokeping",
    time: "meta.start and meta.step (Unix seconds, UTC)",
    source: constantWords("src", options.src) ?? "unknown (--src)",
    destination: constantWords("dst", options.dst) ?? "unknown (--dst)",
    rtt: names[rtt] === undefined ? "unknown" : `${names[rtt]} (${unit})`,
    noReply: [
      ...[loss >= 0 ? `${names[loss]} of all pings` : "", received >= 0 ? `${names[received]} 0` : ""],
      "null",
    ].filter(Boolean).join(", or "),
    notUsed: names.filter((_, at) => ![rtt, loss, sent, received].includes(at)),
  };
}

/** Numbers of columns, from 0; -1 if absent, NaN if there are several. */
interface Columns {
  rtt: number;
  unit: string;
  loss: number;
  /** Numbers of pings and replies. */
  sent: number;
  received: number;
}

function columnsOf(names: readonly string[], { columns }: ReadingOptions): Columns {
  const [key, asked] = [...columns ?? []].find(([key]) => key in KEY_UNITS) ?? [];
  const [sent, received] = ["xmt", "rcv"].map((name) => names.indexOf(name));
  const isRtt = (name: string) => /median|rtt|avg|average|latency/i.test(name) && !isOtherStatistic(name);
  const only = (isWanted: (name: string) => boolean) => {
    const [column = -1, ...others] = [...names.keys()].filter((column) => isWanted(names[column]));
    return others.length > 0 ? NaN : column;
  };
  const rtt = only((name) => key === undefined ? isRtt(name) : name === asked);
  // fping, which LibreNMS runs, prints ms; SmokePing stores seconds.
  const usual = sent >= 0 && received >= 0 ? "ms" : "s";
  const unit = key === undefined ? unitIn(names[rtt] ?? "", usual) : KEY_UNITS[key];
  return { rtt, unit, loss: only((name) => /loss/i.test(name)), sent, received };
}

function* findingsOf(object: JsonObject, options: ReadingOptions): Generator<Finding> {
  const { start, step } = objectOf(object.meta);
  const names = namesOf(object);
  const { rtt, unit, loss, sent, received } = columnsOf(names, options);
  if (!(rtt >= 0) || Number.isNaN(loss)) {
    const found = `found the legends ${shortened(names.join(", "), 120)}`;
    const expected = "one RTT such as median, and at most one loss";
    const advice = "export each destination by itself, with XPORT:median:median XPORT:loss:loss";
    return yield { reason: "nullValue", found, expected, advice };
  }
  const isPercent = /%[\])]*$/.test(names[loss] ?? "");
  const rows = new TableRows(options);
  const layout = layoutOf(["time", `rtt_${unit}`, "packet_error_count"], { ...options, columns: undefined });
  const findings: Finding[] = [];
  for (const [i, row] of (object.data as unknown[]).entries()) {
    if (!Array.isArray(row) || row.length < names.length) {
      findings.push({ reason: "incompleteResult", found: `row ${i + 1}: expected ${names.length} columns` });
      continue;
    }
    // `--showtime` puts the time before the columns.
    const time = row.length > names.length ? row[0] : Number(start) + i * Number(step);
    const values = row.slice(row.length - names.length);
    const numberOf = (column: number) => Number(values[column] ?? NaN);
    const numPings = sent < 0 ? NUM_PINGS : numberOf(sent);
    const numLost = received >= 0
      ? numPings - numberOf(received)
      : numberOf(loss) * (isPercent ? numPings / 100 : 1);
    if (numPings === 0) findings.push({ skipped: "nothing sent" });
    else if (values[rtt] === null && !(numLost > 0)) findings.push({ skipped: "no data" });
    else {
      const rttOrLost = numLost >= numPings ? null : values[rtt];
      const fields = [time, rttOrLost, Number.isNaN(numLost) ? null : Math.round(numLost)];
      rows.read(fields, layout, (finding) => findings.push(finding));
    }
  }
  yield* findings;
}
