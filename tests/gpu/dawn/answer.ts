/**
 * Prints what a checkpoint answers to one question, as JSON, on the WebGPU that was loaded. Arguments: the run's folder.
 *
 * @module
 */
import { PingModel } from "../../../lib/query/ping_model.ts";

const model = await PingModel.load(Deno.args[0]);
const rtt = await model.rttDistribution({ src: "192.0.2.1", dst: "198.51.100.7" });
const quantilesMs = [0.05, 0.25, 0.5, 0.75, 0.95].map((level) => rtt.quantileMs(level));
console.log(JSON.stringify({ implementation: String(navigator.gpu), pFailed: rtt.pFailed, quantilesMs, cdf: rtt.cdf(100) }));
model.close();
