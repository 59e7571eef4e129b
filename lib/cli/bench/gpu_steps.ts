/**
 * `bench gpu`: runs the steps of a survey, each in a separate process with a time limit, so that a step that
 * fails or hangs does not stop the others.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import type { EngineName } from "../../tensor/engine.ts";
import { runChild } from "./child.ts";
import { isRight } from "./gpu_checks.ts";
import type { GpuPart, PartResults } from "./gpu_parts.ts";

/** A constant is changed only if the new value is this much faster. */
export const WORTH_A_CHANGE = 1.03;

export interface GpuStep {
  name: string;
  limitS: number;
  part: GpuPart;
}

export interface StepEnd extends GpuStep {
  seconds: number;
  result?: unknown;
  /** Why nothing was measured. */
  reason?: string;
}

/**
 * @param options `leftS`: the remaining time; `onEnd`: called after each step with all finished steps.
 * @throws {InterruptedError} If the signal is aborted.
 */
export async function runSteps(
  steps: readonly GpuStep[],
  { signal, leftS, onStep, onEnd }: {
    signal: AbortSignal;
    leftS: () => number;
    onStep: (index: number, name: string) => void;
    onEnd: (ends: readonly StepEnd[]) => void;
  },
): Promise<StepEnd[]> {
  const ends: StepEnd[] = [];
  const missing = new Map<EngineName, string>();
  for (const [i, step] of steps.entries()) {
    const { part, name } = step;
    onStep(i, name);
    const engine = "gpu" in part ? part.gpu.engine as EngineName : undefined;
    const limitS = Math.min(step.limitS, leftS());
    const startMs = performance.now();
    const end: StepEnd = { ...step, seconds: 0 };
    if (limitS <= 0) end.reason = "the time limit was reached";
    else if (engine && missing.has(engine)) end.reason = `${engine} found no adapter`;
    else {
      try {
        const args = ["gpu", JSON.stringify(part)];
        const { result } = await runChild(args, { label: name, signal, limitS }) as { result: unknown };
        end.result = result;
      } catch (error) {
        signal.throwIfAborted();
        end.reason = error instanceof UserError ? error.message : String(error);
        if (engine && part.kind === "adapter") missing.set(engine, end.reason);
      }
    }
    end.seconds = (performance.now() - startMs) / 1000;
    ends.push(end);
    onEnd(ends);
  }
  return ends;
}

/** Whether a result is wrong, or the checks of an available engine failed. */
export function hasFault(ends: readonly StepEnd[]): boolean {
  const engines = new Set(resultsOf(ends, "adapter").map(({ part }) => part.gpu.engine));
  return ends.some(({ part, reason }) =>
    part.kind === "checks" && reason !== undefined && engines.has(part.gpu.engine)
  ) ||
    resultsOf(ends, "checks").some(({ result }) => !result.every(isRight));
}

export function resultsOf<K extends keyof PartResults>(
  ends: readonly StepEnd[],
  kind: K,
): { step: StepEnd; part: GpuPart & { kind: K }; result: PartResults[K] }[] {
  return ends.filter(({ part, result }) => part.kind === kind && result !== undefined).map((step) => ({
    step,
    part: step.part as GpuPart & { kind: K },
    result: step.result as PartResults[K],
  }));
}
