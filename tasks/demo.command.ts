import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { readingOptions } from "./shared_options.ts";
import { ATLAS_KEY, atlasApi, MEASUREMENTS, SPAN_TIME } from "./fetch.command.ts";

/**
 * The real measurements of `demo` and the places of their addresses, as paths from the checkout's root. For
 * their origin see tests/data/README.md.
 */
export const DEMO_CAMPAIGN = {
  measurements: "tests/data/campaigns/menog-2019-05.parquet",
  places: [
    "tests/data/campaigns/dbip-city-menog-2019-05.csv",
    "tests/data/campaigns/asn-ipv4-ipv6-menog-2019-05.csv",
  ],
};
export const DEMO_FILES: readonly string[] = [DEMO_CAMPAIGN.measurements, ...DEMO_CAMPAIGN.places];
/** The most training steps by source of data: about as many as two cores manage in the default time. */
export const DEMO_STEPS = { campaign: 400, synth: 400, most: 1_000_000 };

export const demoCommand = command({
  name: "demo",
  summary: "run the whole chain end to end, on a small scale",
  details:
    "Learns from a real RIPE Atlas campaign (96 probes, 151 servers, May 2019), or from --input, --fetch or a synthetic " +
    "Internet. Ends with a table: the model and the best baseline on held-out pairs, destinations, probes and days; of --input " +
    "and --fetch on held-out rows, so that the model knows every pair.",
  reads: "nothing, or `--input`, or RIPE Atlas (`--fetch`)",
  writes: "all of the above, on a small scale, and a report",
  example: "--input results/*.json.gz --output runs/mine",
  main: ["output", "input", "fetch", "minutes", "overwrite"],
  options: {
    output: option.path(uses.outputFolder, "folder for everything it writes", { default: "runs/demo" }),
    input: option.paths(
      uses.inputs,
      "measurements in any format that import reads, to learn from instead of the real campaign",
    ),
    ...readingOptions,
    names: option.paths(uses.inputs, "addresses of hosts that --input identifies by name, as for import"),
    fetch: option.text(`fetch RIPE Atlas results and learn from them: ${MEASUREMENTS}`, {
      value: "ID,ID-ID",
    }),
    start: option.text(`${readingOptions.start.help}; with --fetch: first time, ${SPAN_TIME}`, {
      value: "TIME",
    }),
    stop: option.text("with --fetch: end time (exclusive), in the same form", { value: "TIME" }),
    url: atlasApi.url,
    keyFile: atlasApi.keyFile,
    synthetic: option.switch("learn from a synthetic Internet whose truth is known"),
    steps: option.integer(
      `maximum number of training steps (default: ${DEMO_STEPS.campaign}, with --synthetic ${DEMO_STEPS.synth}, with ` +
        "--input enough for its epochs)",
      { min: 1, max: DEMO_STEPS.most },
    ),
    minutes: option.number("maximum training time, in minutes", { default: 3, min: 0.05, max: 100_000 }),
    geo: option.paths(
      uses.inputs,
      "files with the places of addresses, as for train; the campaign and --fetch have their own places",
    ),
    overwrite: option.switch("replace what an earlier demo wrote, and train again"),
  },
  needs: {
    trains: true,
    files: () => [new URL("../tests/data/campaigns", import.meta.url)],
    connects: { to: "url", ifGiven: "fetch" },
    variables: [ATLAS_KEY],
  },
});
