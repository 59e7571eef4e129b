/** `watch`: reports when pairs stop replying or their RTTs leave their usual level. @module */
import { parseJson } from "../lib/base/collections.ts";
import { shortened, UsageError, UserError } from "../lib/base/errors.ts";
import { formatCount } from "../lib/base/text.ts";
import type { OptionsOf } from "../lib/cli/command.ts";
import { parseDurationS } from "../lib/cli/options.ts";
import { defineStage, serveStage, snakeKeys, type StageContext } from "../lib/cli/stage.ts";
import type { AddressNames } from "../lib/data/addresses/address_names.ts";
import { addressBytes, parseAddress } from "../lib/data/addresses/ip.ts";
import { withName } from "../lib/data/addresses/ip_prefix.ts";
import { missingFields } from "../lib/data/addresses/place_table.ts";
import { openNames } from "../lib/data/addresses/places/open_names.ts";
import { openPlaces } from "../lib/data/addresses/places/open_places.ts";
import { type AlarmLine, alarmLine, alarmLineSchema, AlarmTable } from "../lib/query/changes/alarm_lines.ts";
import { DEFAULT_CHANGE_OPTIONS } from "../lib/query/changes/change_detector.ts";
import { type Expectation, expectationsOf, PairExpectations } from "../lib/query/changes/expectation.ts";
import { readKey } from "../lib/cli/fetch/api_client.ts";
import { Webhook, WEBHOOK_TIMES, webhookUrl } from "../lib/cli/webhook.ts";
import type { AlarmEvent, Calibration } from "../lib/query/changes/alarms.ts";
import { MAX_DAYS, type PeriodReport, PeriodTally, reportJson } from "../lib/query/changes/period_report.ts";
import { reportPage } from "../lib/query/changes/report_page.ts";
import { PairWatch, type WatchOptions } from "../lib/query/changes/pair_watch.ts";
import { ToldAlarms } from "../lib/query/changes/told_alarms.ts";
import { checkRejected, describeRejected, totalOf } from "../lib/data/measurement_files/rejects.ts";
import { ArrivingMeasurements } from "../lib/query/files/arriving.ts";
import { STANDARD_INPUT } from "../lib/io/compression/decompress.ts";
import { loadModel } from "../lib/query/files/load_model.ts";
import type { PingModel } from "../lib/query/ping_model.ts";
import { makeWatchApp } from "../lib/serve/app.ts";
import { exposition } from "../lib/serve/metrics.ts";
import { HttpServer } from "../lib/serve/server.ts";
import { watchMetrics } from "../lib/serve/watched.ts";
import { AppendedLines } from "../lib/io/files/appended_lines.ts";
import { systemCode } from "../lib/io/files/file_errors.ts";
import { infoOf } from "../lib/io/files/inputs.ts";
import { printLine } from "../lib/io/files/standard_output.ts";
import { OutputFile, writeOutputFile } from "../lib/io/files/output_file.ts";
import type { ReadingOptions } from "../lib/data/formats/format.ts";
import { JsonLinesOutput } from "./query_options.ts";
import { parseLimits } from "./limits.ts";
import { ownOutput } from "./own_outputs.ts";
import { openReading, timeOption } from "./reading.ts";
import { watchCommand, WEBHOOK_KEY } from "./watch.command.ts";

type Options = OptionsOf<typeof watchCommand>;

const SECONDS_OF = { hour: 3600, day: 86_400, week: 604_800 };
const METRICS_MS = 10_000;
/** How long posting to the webhook may take at the end of the input and after a signal. */
const LAST_POSTS_MS = { end: 60_000, signal: 10_000 };
/** The largest share of an input that may be left out. */
const MAX_LEFT_OUT = 0.05;
/** Days and hours of the pairs in a report that --json prints, about 150 bytes each. */
const MAX_PRINTED = 2_000_000;
/** Maximum number of pairs without any reply that are listed at the end. */
const MAX_LISTED = 20;
/** Limits for monitoring clients. */
const MONITOR_LIMITS = { maxBodyBytes: 1024, maxRequestS: 10, maxConnections: 64, maxClientConnections: 32 };

export const watchStage = defineStage(watchCommand, async (options, stage) => {
  const { input, metrics, metricPairs, overwrite } = options;
  const isReport = options.report.length > 0;
  if (options.json && options.output === undefined && !isReport) {
    throw new UsageError(
      "Cannot use --json: the alarms use standard output; add --output FILE, or --report FILE to print the report",
    );
  }
  const listenAt = options.listen === undefined ? undefined : placeOf(options.listen);
  using webhook = webhookOf(options, stage);
  const watching = {
    changes: { ...DEFAULT_CHANGE_OPTIONS, delay: options.delay, minShiftMs: options.minShiftMs },
    maxPairs: options.maxPairs,
    newUsualAfterS: parseDurationS(options.newUsualAfter, "new-usual-after"),
    groupWithinS: parseDurationS(options.groupWithin, "group-within"),
    alarmsPerDay: ratePerDay(options.falseAlarms),
  };
  const { reading, readings } = await openReading(options, stage.log);
  const calibration = await calibrated(options, watching, reading, stage);
  using model = options.checkpoint === undefined ? undefined : await loadModel(options.checkpoint);
  const names = await openNames(options.names);
  const placeOfAddress = await placesOf(options.geo, model, stage);
  const isWhole = !options.follow && !input.includes(STANDARD_INPUT);
  const told = new ToldAlarms();
  using report = openReport(options, names);
  const watch = new PairWatch({
    ...{ ...watching, calibration, isWhole, placeOf: placeOfAddress, log: stage.log },
    limits: parseLimits(options, names),
    onUsed: report && ((pair, measurement) => report.tally.add(pair, measurement)),
    wasTold: (finding) => told.hasBegun(finding),
  });
  const arriving = arrivalsOf(input, { ...options, reading }, stage);
  const expectations = model && new PairExpectations(model);
  const watched = {
    watch,
    maxPairs: metricPairs,
    expectations,
    names,
    webhook,
    get numUnusable() {
      return totalOf(arriving.rejected);
    },
  };
  const refresh = async () => await expectations?.update(watch.foremostPairs(metricPairs));
  const isText = options.text || !options.json && Deno.stdout.isTerminal();
  const table = new AlarmTable(names);
  // The report contains the alarms.
  const isSilent = isText || options.json;
  using lines = isSilent && options.output === undefined ? undefined : openAlarms(options, told);
  using progress = stage.progress("watching", { unit: "measurements" });
  let metricsOutput = ownOutput("watch --metrics", overwrite);
  const writeMetrics = async (path: string) => {
    await refresh();
    writeOutputFile(path, exposition(watchMetrics(watched)), metricsOutput);
    // Files that appear there later are not replaced.
    metricsOutput = ownOutput("watch --metrics", false);
  };
  using metricsFile = metrics === undefined
    ? undefined
    : new Repeated(METRICS_MS, () => writeMetrics(metrics), stage.log);
  const server = listenAt && await HttpServer.listen({
    ...listenAt,
    limits: MONITOR_LIMITS,
    log: stage.log,
    fetch: makeWatchApp(watched, { host: listenAt.host, refresh, log: stage.log }).fetch,
  });
  if (server) stage.log(`Listening at ${server.url}`);
  const tell = async (events: Iterable<AlarmEvent>) => {
    for (const event of events) {
      const text = table.add(event);
      const numbers = told.take(event);
      if (!numbers) continue;
      if (isText && !isWhole && text !== undefined) printLine(text);
      const line = { ...alarmLine(event, model && await expectedAt(model, event), names), ...numbers };
      lines?.write(line);
      report?.tally.addAlarm(line);
      webhook?.send(line);
    }
  };
  if (!isWhole) stage.log(choiceOf(options, isWhole));
  for await (const measurement of arriving) {
    metricsFile?.check();
    progress.update(watch.numMeasurements, `${watch.numPairs} pairs, ${watch.alarms.numDepartures} changes`);
    await tell(watch.add(measurement));
  }
  const isRead = !options.follow && !stage.signal.aborted;
  if (isRead) await tell(watch.finish());
  lines?.commit();
  const { counts, text } = countsOf(watch, arriving);
  let reported: PeriodReport | undefined;
  if (report && isRead) {
    stage.log(`writing the report of ${formatCount(report.tally.numPairs)} pairs`);
    const { unusable, late, inFuture: in_future, wrongClock: with_a_wrong_clock } = counts;
    reported = await report.write(input, { unusable, late, in_future, with_a_wrong_clock });
  }
  await webhook?.finish(stage.signal.aborted ? LAST_POSTS_MS.signal : LAST_POSTS_MS.end, stage.signal);
  await metricsFile?.run({ mustSucceed: isRead });
  await server?.stop(MONITOR_LIMITS.maxRequestS);
  if (webhook && webhook.numWaiting > 0) stage.log(`${webhook.numWaiting} alarms were not posted`);
  const shown = isText ? table.toString() : "";
  if (stage.signal.aborted && shown !== "") printLine(`\n${shown}`);
  readings.end();
  stage.log(text);
  if (counts.neverReplied > 0) stage.log(neverRepliedOf(watch, names));
  if (isWhole) stage.log(choiceOf(options, isWhole));
  stage.log(neededOf(watch.alarms));
  stage.signal.throwIfAborted();
  const numUnposted = webhook ? webhook.numLost + webhook.numWaiting : 0;
  if (numUnposted > 0) {
    throw new UserError(
      `Cannot post all alarms: the webhook accepted ${webhook?.numSent} of them, ${numUnposted} were given up; ` +
        "see the lines above, and correct the receiver",
    );
  }
  if (isRead) requireUsed(watch, arriving);
  return {
    text: shown,
    json: {
      stage: "watch",
      ...snakeKeys({ reading: readings.list }, true),
      ...snakeKeys(counts),
      needed_evidence: watch.alarms.needed,
      ...(options.json && reported && { report: printable(reported) }),
    },
  };
});

/** The files of `--report`, opened before the work begins. */
function openReport(
  { report: paths, period, compareAt, follow, maxPairs, overwrite, zone }: Options,
  names: AddressNames,
): ReportFiles | undefined {
  if (paths.length === 0) {
    const given = period === undefined ? compareAt === undefined ? undefined : "compare-at" : "period";
    if (given === undefined) return undefined;
    throw new UsageError(`Cannot use --${given}: it is for a report; add --report F.html`);
  }
  if (follow) {
    throw new UsageError(
      "Cannot use --report with --follow: a report is of a whole input; run watch on the files of its period",
    );
  }
  const wrong = paths.find((path) => !/\.(html|json)$/.test(path));
  if (wrong !== undefined) {
    throw new UsageError(
      `Cannot use --report ${shortened(wrong)}: expected a name that ends with .html or .json`,
    );
  }
  const [fromS, toS] = period === undefined ? [] : periodOf(period, zone);
  const compareAtS = compareAt === undefined ? undefined : timeOption("compare-at", compareAt, zone);
  const tally = new PeriodTally({ fromS, toS, compareAtS, maxPairs, names });
  return new ReportFiles(tally, paths, overwrite);
}

class ReportFiles implements Disposable {
  readonly #opened = new DisposableStack();
  readonly #files: readonly OutputFile[];

  /** @throws {UserError} If a file may not be written. */
  constructor(readonly tally: PeriodTally, paths: readonly string[], overwrite: boolean) {
    this.#files = paths.map((path) =>
      this.#opened.use(new OutputFile(path, ownOutput("watch --report", overwrite)))
    );
  }

  /** @param leftOut Counts of measurements that are not in the report. */
  async write(
    inputs: readonly string[],
    leftOut: Readonly<Record<string, number>>,
  ): Promise<PeriodReport> {
    const report = this.tally.report(leftOut);
    for (const file of this.#files) {
      const isPage = file.path.endsWith(".html");
      const texts = isPage ? [await reportPage(report, shortened(inputs.join(", ")))] : reportJson(report);
      for (const text of texts) file.writeSync(new TextEncoder().encode(text));
      file.commit();
    }
    return report;
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
  }
}

/** @throws {UserError} If a report is too long for a single text. */
function printable(report: PeriodReport): PeriodReport {
  const numLines = report.pairs.reduce((sum, { days, hours }) => sum + days.length + hours.length, 0);
  if (numLines <= MAX_PRINTED) return report;
  throw new UserError(
    `Cannot print the report of ${report.pairs.length} pairs: it is too long; leave out --json and use --report F.json`,
  );
}

/** Parses `--period`. @throws {UsageError} If it is not two times in order. */
function periodOf(text: string, zone?: string): [fromS: number, toS: number] {
  const [from, to, ...others] = text.split("..");
  if (to === undefined || others.length > 0) {
    throw new UsageError(
      `Cannot use --period ${shortened(text)}: expected two times such as 2026-11-01..2026-12-01`,
    );
  }
  const [fromS, toS] = [from, to].map((time) => timeOption("period", time, zone));
  if (fromS < toS && toS - fromS <= MAX_DAYS * SECONDS_OF.day) return [fromS, toS];
  throw new UsageError(
    `Cannot use --period ${shortened(text)}: expected an end at most ${MAX_DAYS} days after the beginning`,
  );
}

/** A followed file has no end, so its alarms are appended as they come. */
function openAlarms(
  { output, follow, overwrite }: Options,
  told: ToldAlarms,
): JsonLinesOutput | AppendedLines {
  const isAppended = follow && output !== undefined && (infoOf(output)?.isFile ?? true);
  if (!isAppended) return new JsonLinesOutput(output, ownOutput("watch --output", overwrite));
  return new AppendedLines(output, {
    stage: "watch",
    beginning: '{"event":"',
    take: (text) => {
      const line = parsedAlarm(text);
      if (line) told.add(line);
      return line !== undefined;
    },
  });
}

function parsedAlarm(text: string): AlarmLine | undefined {
  return alarmLineSchema.safeParse(parseJson(text)).data;
}

/** The final counts, as JSON and as text. */
function countsOf(watch: PairWatch, { rejected, skipped }: ArrivingMeasurements) {
  const counts = {
    measurements: watch.numMeasurements,
    unusable: totalOf(rejected),
    late: watch.numLate,
    inFuture: watch.numInFuture,
    wrongClock: watch.numWrongClock,
    undecided: watch.numUndecided,
    pairs: watch.numPairs,
    neverReplied: watch.neverReplied.length,
    dropped: watch.numDropped,
    alarms: watch.alarms.numAlarms,
    groups: watch.alarms.numGroups,
    open: watch.alarms.numOpen,
  };
  const ifAny = (count: number, what: string) => count > 0 ? [`${formatCount(count)} ${what}`] : [];
  const text = [
    `${formatCount(counts.measurements)} measurements`,
    describeRejected(rejected, "unusable"),
    ...(totalOf(skipped) > 0 ? [describeRejected(skipped, "skipped")] : []),
    `${formatCount(counts.late)} late`,
    ...ifAny(counts.inFuture, "in the future"),
    ...ifAny(counts.wrongClock, "with a wrong clock"),
    `${formatCount(counts.undecided)} undecided`,
    `${formatCount(counts.pairs)} pairs`,
    ...ifAny(counts.neverReplied, "of them without any reply"),
    ...(["dropped", "alarms"] as const).map((name) => `${formatCount(counts[name])} ${name}`),
  ].join(", ") + ` in ${formatCount(counts.groups)} groups (${formatCount(counts.open)} open)`;
  return { counts: { ...counts, rejected, skipped }, text };
}

function neverRepliedOf({ neverReplied }: PairWatch, names: AddressNames): string {
  const shown = neverReplied.slice(0, MAX_LISTED).map(({ src, dst }) => {
    const { src_name, dst_name } = names.namedEnds({ src, dst });
    return `${withName(src, src_name)} -> ${withName(dst, dst_name)}`;
  });
  const numMore = neverReplied.length - shown.length;
  return `no reply at all, hence no alarms: ${shown.join(", ")}${
    numMore > 0 ? ` and ${formatCount(numMore)} more` : ""
  }`;
}

function choiceOf({ falseAlarms, calibration }: Options, isWhole: boolean): string {
  const compared = calibration.length > 0
    ? "--calibration"
    : isWhole
    ? "the whole input"
    : "the last 7 days of the input (beyond that only those stronger than all of these)";
  return `reporting the strongest groups of alarms, at most ${falseAlarms} for all pairs together (--false-alarms), compared ` +
    `with ${compared}`;
}

function neededOf(
  { needed: { outage, loss, shift }, numDepartures, numAlarms }: PairWatch["alarms"],
): string {
  const [outageNats, lossNats, shiftNats] = [outage, loss, shift].map((nats) => Number(nats.toPrecision(3)));
  const needed =
    `alarms needed ${outageNats} nats of evidence for an outage, ${lossNats} for more losses, ${shiftNats} for another level`;
  const numWeaker = numDepartures - numAlarms;
  if (numWeaker === 0) return needed;
  return `${needed}; ${
    formatCount(numWeaker)
  } weaker changes are not reported; raise --false-alarms to report more`;
}

/** @throws {UserError} If nothing in the input was usable, or more than a twentieth was left out. */
function requireUsed(
  watch: PairWatch,
  { paths, rejected, skipped, firstRejected }: ArrivingMeasurements,
): void {
  const { numMeasurements, numUsed, numLate, numInFuture, numWrongClock } = watch;
  checkRejected({ counts: rejected, first: firstRejected }, {
    numRows: numMeasurements + totalOf(rejected),
    maxRejectRatio: MAX_LEFT_OUT,
    advice: "correct or remove them",
  });
  const numLeftOut = numLate + numInFuture + numWrongClock;
  if (numLeftOut > MAX_LEFT_OUT * numMeasurements) {
    const advice = numInFuture > numLate + numWrongClock
      ? "check the unit and the zone of the times (UTC unless they have one), and this machine's clock"
      : numWrongClock > numLate
      ? "correct the clock that wrote the times"
      : "give files in the order of their times and each once, and sort the lines of a file by time";
    throw new UserError(
      `Cannot watch all of the input: ${numLeftOut} of ${numMeasurements} measurements were left out (${numLate} late, ` +
        `${numInFuture} in the future, ${numWrongClock} with a wrong clock), expected at most ${
          100 * MAX_LEFT_OUT
        } %; ${advice}`,
    );
  }
  if (numUsed > 0 && (watch.neverReplied.length < watch.numPairs || watch.numDropped > 0)) return;
  if (numUsed > 0) {
    throw new UserError(
      `Cannot find outages: none of the ${numUsed} measurements has a reply, expected replies before an outage; ` +
        "check the addresses, the program that writes the RTTs, and --columns",
    );
  }
  const found = totalOf(skipped) > 0 ? `nothing but ${describeRejected(skipped, "skipped")}` : "nothing";
  throw new UserError(
    `Cannot watch ${
      shortened(paths.join(", "))
    }: found ${found}, expected measurements; check the program that writes them`,
  );
}

function arrivalsOf(
  paths: readonly string[],
  { follow: isFollowing, reading }: { follow: boolean; reading: ReadingOptions },
  { signal, log }: StageContext,
): ArrivingMeasurements {
  return new ArrivingMeasurements(paths, { isFollowing, reading, signal, log });
}

/** Parses `--listen`. @throws {UsageError} If it is not an address and port. */
function placeOf(text: string): { host: string; port: number } {
  const [, host, port] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  const address = host?.replace(/^\[(.*)\]$/, "$1");
  if (address !== undefined && parseAddress(address) && Number(port) < 65_536) {
    return { host: address, port: Number(port) };
  }
  throw new UsageError(
    `Cannot use --listen ${shortened(text)}: expected an address and a port such as 127.0.0.1:9100 or ` +
      "[::1]:9100",
  );
}

function webhookOf({ webhook, webhookKey, maxQueue }: Options, { log }: StageContext): Webhook | undefined {
  if (webhook === undefined) {
    if (webhookKey === undefined) return undefined;
    throw new UsageError(
      "Cannot use --webhook-key: there is no URL to post to; add --webhook URL",
    );
  }
  const url = webhookUrl(webhook);
  const key = readKey(webhookKey, WEBHOOK_KEY);
  return new Webhook(url, { ...WEBHOOK_TIMES, key, maxQueue, log });
}

const GEO_FIELDS = { countryCode: "country", asNumber: "AS" };

/** Places of addresses from files, or else from a model. */
async function placesOf(
  paths: readonly string[],
  model: PingModel | undefined,
  { log }: StageContext,
): Promise<WatchOptions["placeOf"]> {
  if (paths.length > 0) {
    const places = await openPlaces(paths);
    const missing = missingFields(places, ["countryCode", "asNumber"]).map((field) => GEO_FIELDS[field]);
    if (missing.length > 0) {
      const found = `--geo ${paths.join(" ")} contains none for any address`;
      log(`Cannot group alarms by ${missing.join(" or ")}: ${found}; add a file that does`);
    }
    return (address) => places.locate(address);
  }
  const places = model?.places;
  return places && ((address) => places.describe(address));
}

/** Repeats work at intervals and once at the end. A file that cannot be written may become writable again. */
class Repeated implements Disposable {
  readonly #timer: ReturnType<typeof setInterval>;
  #running: Promise<void> | undefined;
  #error: unknown;
  /** The system error with which the work currently fails. */
  #failure: Error | undefined;

  /** @param log Called when the work first fails and when it succeeds again. */
  constructor(everyMs: number, readonly work: () => Promise<void>, readonly log: (line: string) => void) {
    this.#timer = setInterval(() => this.#running ??= this.#once(), everyMs);
    this.#running = this.#once();
  }

  async #once(): Promise<void> {
    try {
      await this.work();
      if (this.#failure) this.log("the metrics are written again");
      this.#failure = undefined;
    } catch (error) {
      if (!(error instanceof Error) || !systemCode(error.cause ?? error)) this.#error ??= error;
      else {
        if (!this.#failure) this.log(`${error.message}; until then no metrics are written`);
        this.#failure = error;
      }
    } finally {
      this.#running = undefined;
    }
  }

  /** Does the work once more. @throws The error of the work; a system error only if it must succeed. */
  async run({ mustSucceed }: { mustSucceed: boolean }): Promise<void> {
    await this.#running;
    await this.#once();
    this.check();
    if (mustSucceed && this.#failure) throw this.#failure;
  }

  /** @throws The error of the work, unless it is a system error. */
  check(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** The calibration of the evidence of alarms, unless it is the input itself. */
async function calibrated(
  { calibration, falseAlarms }: Options,
  watching: WatchOptions,
  reading: ReadingOptions,
  stage: StageContext,
): Promise<Calibration | undefined> {
  if (calibration.length === 0) return undefined;
  if (calibration.includes(STANDARD_INPUT)) {
    throw new UsageError("Cannot calibrate on standard input: expected files; name them with --calibration");
  }
  const watch = new PairWatch({ ...watching, isWhole: true, log: stage.log });
  const arriving = arrivalsOf(calibration, { reading, follow: false }, stage);
  using progress = stage.progress("calibrating", { unit: "measurements" });
  for await (const measurement of arriving) {
    progress.update(watch.numMeasurements);
    watch.add(measurement);
  }
  stage.signal.throwIfAborted();
  // Taken before finish(), since measurements that are still held may have any time.
  const { spanS } = watch;
  watch.finish();
  requireUsed(watch, arriving);
  // Changes are found among the decided measurements only: those of dropped pairs are not.
  const days = spanS / SECONDS_OF.day * (watch.numDecided / watch.numUsed) || 0;
  if (!(days * watching.alarmsPerDay >= 1)) {
    throw new UsageError(
      `Cannot calibrate ${falseAlarms}: found ${
        days.toPrecision(3)
      } days of decided measurements, expected enough for ` +
        "one alarm; give more with --calibration or a larger rate",
    );
  }
  const { departures } = watch;
  const read = `${formatCount(watch.numMeasurements)} measurements of ${formatCount(watch.numPairs)} pairs`;
  stage.log(
    `calibrated on ${read} in ${days.toPrecision(3)} decided days with ${departures.length} changes`,
  );
  return { departures, days };
}

/** Parses `1/day`, `0.5/hour`. */
function ratePerDay(text: string): number {
  const [, count, unit] = /^(\d+(?:\.\d+)?)\/(hour|day|week)$/.exec(text) ?? [];
  if (Number(count) > 0) return Number(count) * SECONDS_OF.day / SECONDS_OF[unit as keyof typeof SECONDS_OF];
  throw new UsageError(
    `Cannot use --false-alarms ${text}: expected a rate such as 1/day, 0.5/hour or 2/week`,
  );
}

/** What the model expected of the pair when an alarm began, given the measurements before. */
async function expectedAt(model: PingModel, event: AlarmEvent): Promise<Expectation | undefined> {
  if (event.kind !== "begin") return undefined;
  const { alarm: { src, dst, now }, timeS, history = [] } = event;
  const measurement = { source: addressBytes(src), destination: addressBytes(dst), timeS };
  const [expected] = await expectationsOf(model, [{ measurement, before: history, rttMs: now.medianMs }]);
  return expected;
}

if (import.meta.main) serveStage(watchStage);
