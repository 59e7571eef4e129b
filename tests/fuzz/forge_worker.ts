/**
 * Asks forged checkpoints one after another, as worker.ts reads damaged files, and prints the same kind of
 * lines.
 *
 * @module
 */
import { UserError } from "../../lib/base/errors.ts";
import { Gpu } from "../../lib/tensor/device.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import {
  askForged,
  describeForgery,
  forgeryOf,
  targetsOf,
  withForged,
  writeWhole,
} from "./forged_checkpoints.ts";
import { type Outcome, print } from "./worker.ts";

/** Takes the arguments of worker.ts. */
async function main(): Promise<void> {
  const [seed, from, to] = Deno.args.slice(1, 4).map(Number);
  const whole = await writeWhole(Deno.args[4]);
  const targets = targetsOf(whole);
  using gpu = await Gpu.open();
  const registry = new KernelRegistry(gpu);
  for (let index = from; index < to; index++) {
    const forged = forgeryOf(targets, seed, index);
    const mutation = describeForgery(forged);
    print({ index, mutation });
    const ask = () => withForged(whole, forged, () => askForged(whole, forged, registry));
    print({ index, mutation, ...await outcomeOf(ask), rssBytes: Deno.memoryUsage().rss });
  }
}

async function outcomeOf(ask: () => Promise<string[]>): Promise<Pick<Outcome, "kind" | "message">> {
  try {
    const faults = await ask();
    return { kind: faults.length > 0 ? "fault" : "read", message: faults.join(", ") };
  } catch (thrown) {
    // The service wraps faults of the model in errors that do not blame the caller.
    const error = thrown instanceof Error && thrown.cause instanceof UserError ? thrown.cause : thrown;
    if (!(error instanceof UserError)) return { kind: "fault", message: Deno.inspect(error) };
    // A fault of a question names the key.
    const isClear = /^(\w+: )?Cannot [^\n]+$/.test(error.message);
    return { kind: isClear ? "error" : "fault", message: error.message };
  }
}

if (import.meta.main) await main();
