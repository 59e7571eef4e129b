/**
 * All stages as commands, in the order of the chain. A command is declared in `tasks/*.command.ts`. The
 * module that runs it is in the same folder, and is loaded in a thread with only the permissions that the
 * command needs.
 *
 * @module
 */
import { leavesOf } from "../lib/cli/command.ts";
import { adaptCommand } from "./adapt.command.ts";
import { compileCommand } from "./compile.command.ts";
import { completionCommand } from "./completion.command.ts";
import { demoCommand } from "./demo.command.ts";
import { evalCommand } from "./eval.command.ts";
import { exportCommand } from "./export.command.ts";
import { fetchAtlasCommand, fetchGlobalpingCommand, fetchPrometheusCommand } from "./fetch.command.ts";
import { importCommand } from "./import.command.ts";
import { inspectCommand } from "./inspect.command.ts";
import { pretokenizeCommand } from "./pretokenize.command.ts";
import { queryLikelihoodCommand } from "./query_likelihood.command.ts";
import { queryMapCommand } from "./query_map.command.ts";
import { queryMatrixCommand } from "./query_matrix.command.ts";
import {
  queryAdviseCommand,
  queryDestinationsCommand,
  queryNearestCommand,
  queryPlaceCommand,
  querySampleCommand,
} from "./query_questions.command.ts";
import { queryRttCommand } from "./query_rtt.command.ts";
import { scoreCommand } from "./score.command.ts";
import { serveCommand } from "./serve.command.ts";
import { slurmCommand } from "./slurm.command.ts";
import { probeRowsCommand, shardCommand } from "./split_stages.command.ts";
import { statusCommand } from "./status.command.ts";
import { synthCommand } from "./synth.command.ts";
import { trainCommand } from "./train.command.ts";
import { watchCommand } from "./watch.command.ts";

export const STAGES = {
  "synth": synthCommand,
  "fetch": {
    name: "fetch",
    summary: "fetch ping measurements from RIPE Atlas, Globalping or Prometheus, and the places of probes",
    reads:
      "the API of RIPE Atlas, Globalping or Prometheus: `fetch atlas`, `fetch globalping`, `fetch prometheus`",
    writes: "results as received, compressed, for `import`; places of probes for `train --geo`",
    kinds: {
      "atlas": fetchAtlasCommand,
      "globalping": fetchGlobalpingCommand,
      "prometheus": fetchPrometheusCommand,
    },
  },
  "import": importCommand,
  "shard": shardCommand,
  "probe-rows": probeRowsCommand,
  "pretokenize": pretokenizeCommand,
  "inspect": inspectCommand,
  "status": statusCommand,
  "train": trainCommand,
  "adapt": adaptCommand,
  "eval": evalCommand,
  "query": {
    name: "query",
    summary:
      "ask a trained model for RTT distributions, destinations, nearest candidates, places, maps, matrices, likelihoods, samples",
    kinds: {
      "rtt": queryRttCommand,
      "destinations": queryDestinationsCommand,
      "nearest": queryNearestCommand,
      "advise": queryAdviseCommand,
      "place": queryPlaceCommand,
      "matrix": queryMatrixCommand,
      "map": queryMapCommand,
      "sample": querySampleCommand,
      "likelihood": queryLikelihoodCommand,
    },
  },
  "score": scoreCommand,
  "watch": watchCommand,
  "serve": serveCommand,
  "export": exportCommand,
  "slurm": slurmCommand,
  "demo": demoCommand,
  "compile": compileCommand,
  "completion": completionCommand,
};

export function moduleOf(
  { name, module = name.replace(/[ -]/g, "_") }: { name: string; module?: string },
): URL {
  return new URL(`./${module}.ts`, import.meta.url);
}

/** The modules that run stages, from the checkout's root. */
export const STAGE_MODULES: readonly string[] = [
  ...new Set(leavesOf(STAGES).map((command) => `tasks/${moduleOf(command).pathname.split("/").at(-1)}`)),
];
