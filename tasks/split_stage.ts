/**
 * What the stages that divide measurements into splits have in common: `shard` and `probe-rows`.
 *
 * @module
 */
import { dataFlags, type Flag, flag } from "../lib/cli/flags.ts";
import { formatBytes, formatCount, formatSeconds } from "../lib/text/quantities.ts";
import { GROUP_KEYS } from "../lib/external_sort/probe_columns.ts";
import { SPLIT_MODES, type SplitMode } from "../lib/preprocess/splits.ts";

const MODE_PURPOSES: Record<SplitMode, string> = {
  probe: "all measurements of a source together",
  time: "the end of the time span is test, the part before it val",
  row: "each (msm_id, event_time); without msm_id each (src_addr, dst_addr, event_time)",
  pair: "all measurements between two addresses together, in both directions",
  destination: "all measurements to an address together",
  node: "by addresses: a measurement is test if either end is, else val if either is, else train",
};

/** The option that says how rows are split. @param purpose The first line of its description. */
export function splitByFlag(purpose: string): Flag<SplitMode> {
  const modes = Object.entries(MODE_PURPOSES).map(([mode, meaning]) => `  ${mode}: ${meaning}`);
  return flag.choice(SPLIT_MODES, [purpose, ...modes].join("\n"), { default: "probe" });
}

/** Their options on rows and memory. */
export const splitStageFlags = {
  ratios: flag.text("shares of train, val, test, of addresses if by node; 0,0,100 makes all test", {
    default: "80,10,10",
    placeholder: "A,B,C",
  }),
  groupBy: flag.choice(GROUP_KEYS, "what a source is", { default: "src_addr" }),
  maxRejectRatio: flag.number("fail when a larger share of the rows is rejected", {
    default: 0.05,
    min: 0,
    max: 1,
  }),
  task: flag.text("which of how many tasks this is that share the work and the output folder, such as 2/4", {
    default: "1/1",
    placeholder: "I/N",
  }),
  overwrite: flag.boolean("replace what this stage wrote to the output folder with other inputs or options"),
  // The runtime and one row group of the input take 0.3 GB already.
  memoryLimitGb: flag.number(dataFlags.memoryLimitGb.description, { default: 2, min: 0.5 }),
};

/**
 * What became of a run, for a person.
 *
 * @param output The folder written.
 * @param result What the run counted.
 * @param lines A line for each split.
 */
export function describeSplitRun(
  output: string,
  result: { wasComplete: boolean; inputRows: number; seconds: number; peakMemoryBytes: number },
  lines: readonly string[],
): string {
  return [
    result.wasComplete ? `${output} is complete already` : `wrote ${output}`,
    ...lines,
    `${formatCount(result.inputRows)} rows read in ${formatSeconds(result.seconds)}, ` +
    `peak memory ${formatBytes(result.peakMemoryBytes)}`,
  ].join("\n");
}
