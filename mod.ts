/**
 * ping-llm as a library: everything that a stage does can be done from a program.
 *
 * ```ts ignore
 * import { parseAddress, PingModel } from "@ping-llm/ping-llm";
 *
 * using model = await PingModel.load("runs/demo/train");
 * const source = parseAddress("192.0.2.1");
 * const destination = parseAddress("198.51.100.7");
 * if (source && destination) {
 *   const rtt = await model.rttDistribution({ source, destination, timeS: null, context: [] });
 *   console.log(rtt.quantileMs(0.5));
 * }
 * ```
 *
 * @module
 */
export * from "./lib/errors.ts";
