/** Fields of a record that tell whether there was a reply, by their names. @module */
import { shortened } from "../../base/errors.ts";
import { decimal, NO_REPLY_SENTENCE, type Rejection, type Skipped } from "./format.ts";

/** The losses of a column so far, which show whether 1 is a fraction or 1 %. */
export interface LossScale {
  hasPercent: boolean;
  /** Whether a 1 beside an RTT was read as a fraction. */
  hasFraction: boolean;
}

/** A field that may tell a loss. `says` is what it says then, in words. */
export interface Signal {
  readonly kind: "flag" | "lost" | "state" | "word" | "code" | "loss" | "percent" | "received" | "sent";
  readonly field: number;
  readonly says?: string;
}

const WORDS = "down, unreachable, timeout";
const KINDS: readonly (readonly [RegExp, Signal["kind"], string?])[] = [
  [/^(?:is_)?(?:success|succeeded|successful|alive|reachable|up|online|ok)$/, "flag", "0 or false"],
  [
    /^(?:is_)?(?:lost|dropped|failed|down|unreachable|timeout|timed_?out)$/,
    "lost",
    "true, or the number sent",
  ],
  [/^(?:status|result|error)_?code$/, "code", "a code of PowerShell"],
  [/^(?:ping_)?(?:status|state)$/, "state", `0, ${WORDS}`],
  // 0 and false are no error and the type of an echo reply.
  [/^(?:result|outcome|type|error|err|(?:error_)?(?:message|msg)|reason)$/, "word", WORDS],
  [/(?:percent|pct).*loss|loss.*(?:percent|pct|%)/, "percent", "100"],
  [/loss(?:$|_ratio|_rate)/, "loss", "100, or 1 if fractions"],
  [/^(?:(?:packets?|pings?|probes?)_)?(?:received|recv|rcvd?|rx)$/, "received", "0"],
  [/^(?:(?:packets?|pings?|probes?)_)?(?:sent|transmitted|xmt|snt|tx)$/, "sent"],
];

/** @param name In lower case. Of `monitor.status`, only the last part counts. */
export function signalOf(name: string, field: number): Signal | undefined {
  const last = name.slice(name.lastIndexOf(".") + 1).replace(/[^a-z0-9%]/g, "_");
  const [, kind, says] = KINDS.find(([pattern]) => pattern.test(last)) ?? [];
  return kind && { kind, field, ...(says === undefined ? {} : { says }) };
}

const LOST_WORD = /^(?:lost|loss|down|offline|dead|fail(?:ed|ure)?|unreach(?:able)?)$/;
const LOST_CODE = /^(?:false|110(?:0[2-5]|1[03]))$/;
const LOST_FLAG = /^(?:0(?:\.0*)?|false|no|n|f|down|offline|dead)$/;
/** States that say nothing about the path. */
const NO_STATE =
  /noresources|badoption|hardwareerror|general.?failure|dns|(?:not|un).{0,9}resol|resolution|unknown host|no such host|not known|^11050$|maintenance|pending|paused|disabled/i;

/**
 * Whether a record tells that there was no reply.
 *
 * @param names By field. @param hasRtt Whether an RTT is beside it.
 * @returns A kind to skip if it says nothing about the path, or why its numbers are impossible.
 */
export function lossIn(
  signals: readonly Signal[],
  fields: readonly unknown[],
  names: Readonly<Record<number, string>>,
  hasRtt: boolean,
  scale: LossScale,
): boolean | Skipped | Rejection {
  let isLost = false;
  let sent = NaN;
  let received = NaN;
  let lost = NaN;
  for (const { kind, field } of signals) {
    const value = fields[field];
    if (value === undefined || value === "" || typeof value === "object") continue;
    const text = String(value).toLowerCase();
    if (kind === "flag") isLost ||= LOST_FLAG.test(text);
    else if (kind === "lost") {
      // A number may also be that of lost packets, or of seconds until a timeout.
      isLost ||= text === "true" || text === "yes";
      lost = decimal(text);
    } else if (kind === "state" || kind === "code" || kind === "word") {
      // Numbers as of Uptime Kuma: 0 down, 1 up, 2 pending, 3 maintenance.
      const isPaused = kind === "state" && !hasRtt && (text === "2" || text === "3");
      if (isPaused || NO_STATE.test(text)) return { skipped: `status ${shortened(String(value))}` };
      isLost ||= LOST_WORD.test(text) || NO_REPLY_SENTENCE.test(text) ||
        (kind !== "word" && LOST_CODE.test(text)) || (kind === "state" && text === "0");
    } else {
      const number = decimal(text.replace(/\s*%$/, ""));
      if (number < 0 || number > 100 && (kind === "loss" || kind === "percent")) {
        return { reason: "invalidInteger", found: `${names[field]} ${shortened(text)}` };
      }
      if (kind === "sent") sent = number;
      else if (kind === "received") received = number;
      else if (number === 1 && kind === "loss" && !scale.hasPercent) {
        isLost = true;
        scale.hasFraction ||= hasRtt;
      } else {
        isLost ||= number === 100;
        scale.hasPercent ||= number > 1;
        if (!(number > 1) || kind === "percent" || !scale.hasFraction) continue;
        const found = `${names[field]} ${number}: losses of 1 before it were read as fractions`;
        const advice = "name the column loss_percent if its numbers are percent";
        return { reason: "invalidInteger", found, expected: "losses of one unit", advice };
      }
    }
  }
  if (sent === 0) return { skipped: "nothing sent" };
  if (received > sent) return { reason: "invalidInteger", found: `received ${received} of ${sent} sent` };
  return isLost || received === 0 || lost === sent;
}
