/** The commands `query destinations`, `query nearest`, `query advise`, `query place` and `query sample`. @module */
import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { questionOptions } from "../lib/cli/question_options.ts";
import { QUESTIONS } from "../lib/query/questions/questions.ts";
import {
  distributionOptions,
  formatOptions,
  modelOptions,
  noPool,
  overwriteOther,
} from "./shared_options.ts";

const { advise, destinations, nearest, place, sample } = QUESTIONS;
const linesOutput = (what: string) =>
  option.path(
    uses.outputFile(),
    `write the ${what} as JSON lines, or as CSV (FILE.csv) (default: a table on standard output)`,
  );

export const queryDestinationsCommand = command({
  name: "query destinations",
  summary:
    "the most probable destinations given a source and an RTT, by Bayes' rule from the answers of query rtt",
  reads: "a checkpoint, a source, an RTT or a range of RTTs",
  writes: "the most probable destinations or prefixes, by Bayes' rule",
  example: "--checkpoint runs/demo/train --src 192.0.2.1 --rtt 20..25 --prefix-length 24",
  main: ["checkpoint", "src", "rtt", "within", "prefixLength"],
  options: {
    ...distributionOptions,
    ...questionOptions(destinations),
    ...formatOptions,
    output: linesOutput("destinations"),
    overwrite: overwriteOther,
  },
  module: "query_questions",
});

export const queryNearestCommand = command({
  name: "query nearest",
  summary: nearest.summary,
  reads: "a checkpoint, a source or a file of them, a file of addresses or prefixes",
  writes:
    "the nearest of them: median RTT, probability of being the nearest, expected regret; the best together",
  example:
    "--checkpoint runs/demo/train --sources clients.csv --candidates servers.txt --best 3 --output sites.svg",
  main: ["checkpoint", "src", "sources", "candidates", "best"],
  options: {
    ...distributionOptions,
    ...questionOptions(nearest),
    ...formatOptions,
    output: option.path(
      uses.outputFile(),
      "write the candidates as a table (.csv), a picture (.svg) or JSON lines (default: a table on standard output)",
    ),
    overwrite: overwriteOther,
  },
  module: "query_questions",
});

export const queryAdviseCommand = command({
  name: "query advise",
  summary:
    "which measurements would most reduce the uncertainty about the others, once the model is adapted to them",
  reads: "a checkpoint, a source, a file of addresses that it can measure; or a file of pairs",
  writes: "which to measure, the best first: by how much the spread of the wanted RTTs falls",
  example: "--checkpoint runs/demo/train --src 192.0.2.1 --candidates anchors.txt --budget 20",
  main: ["checkpoint", "src", "candidates", "budget", "output"],
  options: {
    ...modelOptions,
    ...questionOptions(advise),
    ...formatOptions,
    output: linesOutput("measurements"),
    overwrite: overwriteOther,
  },
  module: "query_questions",
});

export const queryPlaceCommand = command({
  name: "query place",
  summary: "where an address is by its RTTs, and which addresses are not where the database says",
  reads: "a checkpoint with places, an address; or no address, to check all",
  writes: "the place, how sure, and the RTTs that prove the place in the database wrong",
  example: "--checkpoint runs/demo/train --src 192.0.2.1",
  main: ["checkpoint", "src", "context", "count", "output"],
  options: {
    ...modelOptions,
    ...questionOptions(place),
    ...formatOptions,
    output: linesOutput("contradicted addresses"),
    overwrite: overwriteOther,
  },
  module: "query_questions",
});

export const querySampleCommand = command({
  name: "query sample",
  summary: "whole measurements drawn from the model, one JSON line each",
  reads: "a checkpoint, optionally addresses and a time",
  writes: "measurements that the model draws, as JSON lines",
  example: "--checkpoint runs/demo/train --count 10 --src 192.0.2.1",
  main: ["checkpoint", "src", "dst", "count", "output"],
  options: {
    ...modelOptions,
    ...questionOptions(sample),
    ...formatOptions,
    noPool,
    output: option.path(uses.outputFile(), "also write the measurements to this file, as JSON lines"),
    overwrite: overwriteOther,
  },
  module: "query_questions",
});
