/**
 * The whole program as one command, `ping-llm STAGE [options]`: what the compiled binary runs.
 *
 * @module
 */
import { didYouMean } from "../lib/cli/nearest.ts";
import { runStage, type Stage } from "../lib/cli/stage.ts";
import { VERSION } from "../lib/version.ts";

/** The stages in the order of the chain; each is loaded when it is asked for. */
const STAGES: Record<string, { purpose: string; load: () => Promise<Stage> }> = {
  "synth": {
    purpose: "make measurements of a synthetic Internet whose truth is known",
    load: async () => (await import("./synth.ts")).synthStage,
  },
  "import": {
    purpose: "turn RIPE Atlas ping results into measurements Parquet",
    load: async () => (await import("./import.ts")).importStage,
  },
  "shard": {
    purpose: "divide measurements into Parquet shards of train, val and test",
    load: async () => (await import("./shard.ts")).shardStage,
  },
  "probe-rows": {
    purpose: "group measurements by source into ArrayRecord shards",
    load: async () => (await import("./probe_rows.ts")).probeRowsStage,
  },
  "pretokenize": {
    purpose: "write token sequences as Parquet, for other trainers",
    load: async () => (await import("./pretokenize.ts")).pretokenizeStage,
  },
  "inspect": {
    purpose: "summarise any file or folder of the chain",
    load: async () => (await import("./inspect.ts")).inspectStage,
  },
  "train": {
    purpose: "train a model on probe rows",
    load: async () => (await import("./train.ts")).trainStage,
  },
  "eval": {
    purpose: "tell how well a model predicts held-out measurements, beside simple methods",
    load: async () => (await import("./eval.ts")).evalStage,
  },
  "query": {
    purpose: "ask a trained model for RTT distributions",
    load: async () => (await import("./query.ts")).queryStage,
  },
  "score": {
    purpose: "add log-likelihoods and anomaly p-values to measurements",
    load: async () => (await import("./score.ts")).scoreStage,
  },
  "demo": {
    purpose: "run the whole chain, small, end to end",
    load: async () => (await import("./demo.ts")).demoStage,
  },
  "bench": {
    purpose: "measure the throughput of kernels, training, preprocessing and loading",
    load: async () => (await import("./bench.ts")).benchStage,
  },
};

function help(): string {
  return [
    "ping-llm: a generative model of ping measurements, from RIPE Atlas results to RTT distributions.",
    "",
    "Usage: ping-llm STAGE [options]    (from a checkout: deno task STAGE [options])",
    "",
    ...Object.entries(STAGES).map(([name, { purpose }]) => `  ${name.padEnd(12)}${purpose}`),
    "",
    "STAGE --help lists a stage's options. --version prints the version.",
  ].join("\n");
}

if (import.meta.main) {
  const [name, ...rest] = Deno.args;
  if (name === undefined || name === "--help") {
    console.log(help());
  } else if (name === "--version") {
    console.log(VERSION);
  } else if (!Object.hasOwn(STAGES, name)) {
    console.error(`error: Cannot run ${name}: no such stage${didYouMean(name, Object.keys(STAGES))}`);
    Deno.exit(2);
  } else {
    await runStage(await STAGES[name].load(), rest);
  }
}
