/** Prints the usage of waiting and of computing for some time, as measured in this process alone. @module */
import process from "node:process";
import { measureUsage } from "../../../lib/cli/bench/usage.ts";

const waiting = await measureUsage(async () => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  return 7;
});
const busy = await measureUsage(() => {
  const [startMs, before] = [performance.now(), process.cpuUsage()];
  let sum = 0;
  // On a busy machine 200 ms may be only a few ms of processor time.
  while (performance.now() - startMs < 200 || process.cpuUsage(before).user < 50_000) {
    sum += Math.sqrt(sum + 1);
  }
  return Promise.resolve(sum);
});
console.log(JSON.stringify({ result: waiting.result, waiting: waiting.usage, busy: busy.usage }));
