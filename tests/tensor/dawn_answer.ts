/**
 * Prints what a checkpoint answers to one question, by whatever WebGPU was loaded, as JSON. Argument: the run's folder.
 *
 * @module
 */
import { loadModel } from "../../lib/query/files/load_model.ts";

using model = await loadModel(Deno.args[0]);
const rtt = await model.rttDistribution({ src: "192.0.2.1", dst: "198.51.100.7" });
const quantilesMs = [0.05, 0.25, 0.5, 0.75, 0.95].map((level) => rtt.quantileMs(level));
const implementation = Symbol.for("Deno.privateCustomInspect") in navigator.gpu ? "Deno" : "Dawn";
console.log(
  JSON.stringify({ implementation, numbers: [rtt.pFailed, rtt.cdf(10), rtt.cdf(100), ...quantilesMs] }),
);
