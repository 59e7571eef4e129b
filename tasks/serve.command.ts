import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { calibration, engine, geoOfModel, names, noPool, pageSources, report } from "./shared_options.ts";

export const serveCommand = command({
  name: "serve",
  summary: "answer questions with a trained model over HTTP, with a page for people",
  reads: "a checkpoint",
  writes: "answers over HTTP, and a page for people",
  example: "--checkpoint runs/demo/train",
  main: ["checkpoint", "host", "port", "names", "mcp"],
  options: {
    checkpoint: option.path(uses.runWithEvaluation, "a run directory or one of its checkpoints", {
      required: true,
    }),
    calibration,
    noPool,
    geo: geoOfModel,
    names,
    engine,
    report,
    host: option.text("the address to listen on; 0.0.0.0 for all addresses of this machine", {
      default: "127.0.0.1",
      value: "ADDRESS",
    }),
    port: option.integer("the port to listen on; 0 for any free one", { default: 8080, min: 0, max: 65_535 }),
    mcp: option.switch(
      "answer one assistant over standard input and output instead, using the Model Context Protocol; no port is opened",
    ),
    watch: option.switch("serve newer checkpoints of the run as they appear"),
    watchS: option.number("seconds between two checks for a newer checkpoint", { default: 5, min: 0.1 }),
    allowOrigin: option.texts(
      "pages of this origin may also send queries, such as https://example.org; * for all (default: none)",
      { value: "ORIGIN" },
    ),
    maxBodyBytes: option.integer("maximum size in bytes of a JSON body, and of each line of JSON lines", {
      default: 2 ** 20,
      min: 1024,
      max: 2 ** 28,
    }),
    maxBatch: option.integer("how many questions the GPU answers at once", {
      default: 62,
      min: 1,
      max: 4096,
    }),
    maxWaitMs: option.integer("milliseconds that a question waits for others to share a batch", {
      default: 10,
      min: 0,
      max: 10_000,
    }),
    maxWatchedPairs: option.integer(
      "how many pairs POST /v1/watch remembers (about 10 kB each); the least recently seen is dropped first",
      { default: 5000, min: 1 },
    ),
    maxQueue: option.integer("maximum number of waiting requests; further ones get status 429", {
      default: 1024,
      min: 1,
    }),
    maxRequestS: option.number("seconds that a request may take; for JSON lines, each answer", {
      default: 60,
      min: 0.1,
      max: 86_400,
    }),
    maxConnections: option.integer(
      "maximum number of connections; further ones get only /healthz and /metrics",
      { default: 256, min: 1 },
    ),
    maxClientConnections: option.integer("the same per client address, which may be that of a proxy", {
      default: 128,
      min: 1,
    }),
  },
  needs: { files: pageSources, listens: { unless: "mcp" } },
});
