/**
 * The output of `ping`: Linux (iputils), macOS and the BSDs, busybox, Windows in most languages.
 *
 * All write a line for each reply with the address and then `time=12.3 ms`. What differs is how a loss shows: as a
 * line, as a gap of the sequence numbers, or only in the statistics at the end.
 *
 * @module
 */
import { parseAddress } from "../addresses/ip.ts";

/** A ping that was sent. */
export interface PingEcho {
  /** The line that says it, from 1; of a loss that no line says, the line that shows it. */
  line: number;
  destination: string;
  /** Null: no reply. */
  rttMs: number | null;
  /** Unix seconds, of `ping -D`; null where the output has none. */
  timeS: number | null;
}

/** What the lines of an output say. */
export interface PingOutput {
  echoes: PingEcho[];
  /** Of `ping -I` and `ping6` of macOS, which print it. */
  source: string | undefined;
  faults: { line: number; message: string }[];
}

/** `[1750766400.123456]` of `ping -D`. */
const TIME = /^\[(\d+(?:\.\d+)?)\]\s*/;
/** `time=12.3 ms`, `time<1ms`, `Zeit=12ms`, `temps=12,3 ms`. */
const RTT = /(?:^|\s)\p{L}+\s*([=<])\s*(\d+(?:[.,]\d+)?)\s*ms(?!\p{L})/gu;
const SEQUENCE = /\b(?:icmp_)?seq[= ](\d+)/;
const HEADING = /^(?:PING6?\b|Pinging )/;
/** `4 packets transmitted, …`; `Sent = 4, Received = 3, Lost = 1`. */
const NUM_SENT = /^(\d+) packets transmitted|\p{L}+ = (\d+), \p{L}+ = \d+, \p{L}+ = \d+/u;
const LOSS =
  /^(?:request timeout|request timed out|no answer yet|zeitüberschreitung|délai d|tiempo de espera)|unreachable|nicht erreichbar|time to live exceeded|ttl expired|packet filtered/i;
/** Lines that say nothing of a ping: headings, statistics, what a shell shows. */
const OTHER = /^(?:\^C|---|rtt |round-trip |[$#>%]|[A-Z]:\\|PS )|:$/;
/** More losses than that at once are a counter that was reset. */
const MAX_GAP = 1000;

/** Whether a text looks like the output of `ping`. */
export function isPingOutput(text: string): boolean {
  return text.split("\n").some((line) =>
    HEADING.test(line.trim()) || line.search(RTT) >= 0 || LOSS.test(line.trim())
  );
}

/** Reads the output of one or several runs of `ping`; a line that says nothing known is a fault. */
export function parsePingOutput(text: string): PingOutput {
  const reader = new OutputReader();
  text.split("\n").forEach((line, i) => reader.read(line.trim(), i + 1));
  const { echoes, source, faults } = reader;
  return { echoes, source, faults };
}

type Place = Pick<PingEcho, "line" | "timeS">;

/** Reads line by line. */
class OutputReader {
  readonly echoes: PingEcho[] = [];
  readonly faults: { line: number; message: string }[] = [];
  source: string | undefined;
  /** Of the run that the lines belong to. */
  #destination: string | undefined;
  /** The pings of the run by their sequence number. */
  #bySequence = new Map<number, PingEcho>();
  #lastSequence: number | undefined;
  #numEchoes = 0;

  read(whole: string, line: number): void {
    const timeS = TIME.exec(whole)?.[1];
    const text = whole.replace(TIME, "");
    const place = { line, timeS: timeS === undefined ? null : Number(timeS) };
    const rtts = [...text.matchAll(RTT)];
    if (text === "" || rtts.length > 1) return; // Least, mean and greatest.
    if (HEADING.test(text)) this.#begin(text);
    else if (rtts.length === 1) {
      const [[, sign, digits]] = rtts;
      // Windows counts whole milliseconds; of less than 1 the middle is the best guess.
      this.#echo(text, place, Number(digits.replace(",", ".")) / (sign === "<" ? 2 : 1));
    } else if (NUM_SENT.test(text)) this.#end(text, place);
    else if (LOSS.test(text)) this.#echo(text, place, null);
    else if (OTHER.test(text)) this.#maybeBegin(text);
    else this.faults.push({ line, message: "no line of ping that is known" });
  }

  #begin(text: string): void {
    this.#endRun();
    const [to, from] = text.split(" from ");
    const addresses = addressesIn(to);
    this.#destination = addresses.at(-1);
    this.source ??= from === undefined ? undefined : addressesIn(from)[0];
    if (text.includes(" --> ")) this.source ??= addresses[0];
  }

  /** Takes a line for a heading in another language if it names another address than the lines before. */
  #maybeBegin(text: string): void {
    const address = addressesIn(text).at(-1);
    if (address !== undefined && address !== this.#destination) this.#begin(text);
  }

  #echo(text: string, place: Place, rttMs: number | null): void {
    const destination = this.#destination ?? (rttMs === null ? undefined : addressesIn(text).at(-1));
    if (destination === undefined) {
      this.faults.push({ line: place.line, message: "no address in it, and none in a line before it" });
      return;
    }
    this.#destination = destination;
    const match = SEQUENCE.exec(text);
    const sequence = match ? Number(match[1]) : undefined;
    const known = sequence === undefined ? undefined : this.#bySequence.get(sequence);
    // A late reply takes the place of its loss; what comes twice (DUP!) counts once.
    if (known) known.rttMs ??= rttMs;
    else {
      this.#fillGap(sequence, place);
      this.#add({ ...place, destination, rttMs }, sequence);
    }
  }

  /** Adds the losses between the last sequence number and this one. */
  #fillGap(sequence: number | undefined, place: Place): void {
    const last = this.#lastSequence;
    if (sequence === undefined || last === undefined || sequence - last > MAX_GAP) return;
    for (let missing = last + 1; missing < sequence; missing++) this.#addLoss(place, missing);
  }

  /** Statistics: what was sent and did not show was lost. */
  #end(text: string, place: Place): void {
    const [, unix, windows] = NUM_SENT.exec(text) ?? [];
    const numMissing = Number(unix ?? windows) - this.#numEchoes;
    for (let i = 0; i < numMissing && numMissing <= MAX_GAP; i++) this.#addLoss(place);
    this.#endRun();
  }

  #endRun(): void {
    this.#bySequence = new Map();
    this.#lastSequence = undefined;
    this.#numEchoes = 0;
  }

  #addLoss(place: Place, sequence?: number): void {
    const destination = this.#destination;
    if (destination !== undefined) this.#add({ ...place, destination, rttMs: null }, sequence);
  }

  #add(echo: PingEcho, sequence?: number): void {
    this.echoes.push(echo);
    this.#numEchoes++;
    if (sequence === undefined) return;
    this.#bySequence.set(sequence, echo);
    this.#lastSequence = Math.max(sequence, this.#lastSequence ?? sequence);
  }
}

/** The addresses in a line, without the marks around them. */
function addressesIn(text: string): string[] {
  const words = text.match(/[0-9a-f.:]*[.:][0-9a-f.:]+/gi) ?? [];
  // A colon ends the address of a reply; `::` may be the end of an address itself.
  return words.map((word) => word.replace(/(?<!:):$|\.$/, "")).filter((word) => parseAddress(word));
}
