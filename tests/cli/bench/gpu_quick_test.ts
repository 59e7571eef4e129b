import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { GpuPart } from "../../../lib/cli/bench/gpu_parts.ts";
import { describeQuick, type QuickPlan, quickSteps } from "../../../lib/cli/bench/gpu_quick.ts";
import { hasFault, runSteps, type StepEnd } from "../../../lib/cli/bench/gpu_steps.ts";
import { describeComparisons, peersOn } from "../../../lib/cli/bench/peers.ts";

const NAMED = { config: "demo", set: [] };
const QUERY = { kind: "one step", promptTokens: 20, rowsPerPrompt: 132, steps: 1 } as const;
const PLAN: QuickPlan = {
  isSoftware: false,
  usual: NAMED,
  large: { config: "680m", set: [] },
  whole: { config: "demo", set: ["train.batchSize=64"] },
  queries: [QUERY, QUERY],
};
const RUN = { signal: new AbortController().signal, leftS: () => 60, onStep() {}, onEnd() {} };

/** The steps of a plan as if they had finished, with results for some. */
function endsOf(resultOf: (part: GpuPart, name: string) => unknown): StepEnd[] {
  return quickSteps(PLAN).map((step) => {
    const result = resultOf(step.part, step.name);
    return { ...step, seconds: 1, ...(result === undefined ? { reason: "it failed" } : { result }) };
  });
}

Deno.test("quickSteps() starts with the checks of both engines, then PyTorch, without repeating a part", () => {
  const parts = quickSteps(PLAN).map(({ part }) => part);
  assertEquals(new Set(parts.map((part) => JSON.stringify(part))).size, parts.length);
  assertEquals(parts.slice(0, 7).map(({ kind }) => kind), [
    "adapter",
    "adapter",
    "checks",
    "checks",
    "peer",
    "peer",
    "peer",
  ]);
  assertEquals(peersOn({ isSoftware: false }).map(([, dtype]) => dtype), ["f32", "f16", "f16"]);
});

Deno.test("runSteps() reports a timed-out step and a failed one, and continues", async () => {
  const adapter = (engine: string): GpuPart => ({ kind: "adapter", gpu: { engine: engine as "deno" } });
  const step = (name: string, part: GpuPart, limitS: number) => ({ name, part, limitS });
  const checks: GpuPart = { kind: "checks", gpu: { engine: "deno" } };
  const written: number[] = [];
  const ends = await runSteps([
    step("too long", checks, 0.01),
    step("no such preset", {
      kind: "training",
      ...NAMED,
      gpu: { engine: "deno" },
      seconds: 1,
      config: "none",
    }, 60),
    step("adapter", adapter("deno"), 60),
  ], { ...RUN, onEnd: (ends) => written.push(ends.length) });
  assertEquals(ends[0].reason, "Cannot measure too long: it did not finish within 0.01 s");
  assertStringIncludes(ends[1].reason ?? "", "Cannot measure no such preset: it exited with code");
  assertEquals(ends[2].reason, undefined);
  assertEquals((ends[2].result as { engine: string }).engine, "deno");
  assertEquals(written, [1, 2, 3]);
  const [late] = await runSteps([step("late", checks, 60)], { ...RUN, leftS: () => 0 });
  assertEquals(late.reason, "the time limit was reached");
});

Deno.test("describeQuick() names wrong results, and hasFault() is true with wrong results or missing checks", () => {
  const checksWith = (error: number) => (part: GpuPart) =>
    part.kind === "checks" ? [{ name: "attention", error, allowedError: 0.1 }] : undefined;
  assert(!hasFault(endsOf(checksWith(0.01))));
  for (const error of [0.5, NaN]) {
    const ends = endsOf(checksWith(error));
    assert(hasFault(ends));
    assertStringIncludes(
      describeQuick(ends, PLAN),
      `attention: found an error of ${error === 0.5 ? "5.0e-1" : "NaN"}`,
    );
  }
  const info = { name: "a GPU", subgroupSize: 32, engine: "deno" };
  const ofDeno = (part: GpuPart) => part.kind === "adapter" && part.gpu.engine === "deno" ? info : undefined;
  assert(hasFault(endsOf(ofDeno)), "the checks of an engine that is there did not run");
  assertStringIncludes(describeQuick(endsOf(ofDeno), PLAN), "NOT MEASURED: it failed");
});

Deno.test("describeQuick() recommends only speedups beyond noise, and compares the engines by kernel", () => {
  const training = (checkedSpeed: number) => (part: GpuPart) => {
    if (part.kind !== "training") return undefined;
    const tokensPerS = part.gpu.toggles ? checkedSpeed : 1000;
    const row = { tokensPerS, stepS: 1, gigaflopsPerS: 1, plannedMemoryBytes: 1, startS: 1 };
    const seconds = part.gpu.engine === "dawn" ? 0.01 : 0.02;
    return { row, profile: [{ label: "up_proj", calls: 1, seconds, flops: 1e12, bytes: 1 }] };
  };
  const text = describeQuick(endsOf(training(1100)), PLAN);
  assertStringIncludes(text, "on 1.10 x   set to on");
  assert(/up_proj +20\.00 +50\.0 +10\.00 +100\n/.test(text), text);
  assertStringIncludes(describeQuick(endsOf(training(1020)), PLAN), "on 1.02 x   stays");
});

Deno.test("describeComparisons() shows the ratio to compiled bf16 on a GPU, and per-core rates in software", () => {
  const row = {
    device: "a GPU",
    perCore: 1,
    peerPerCore: 1,
    tokensPerStep: 16,
    numSteps: 8,
    lossDifference: 0,
  };
  const f32 = {
    ...row,
    peer: "PyTorch f32",
    dtype: "f32",
    engine: "deno",
    median: 100,
    peerMedian: 200,
  } as const;
  const f16 = {
    ...f32,
    peer: "torch.compile bf16",
    dtype: "f16",
    engine: "dawn",
    median: 400,
    peerMedian: 1000,
  } as const;
  const [onGpu] = describeComparisons([f32, f16]);
  assert(/PyTorch f32 .* 0\.50 x +0\.10 x\n/.test(onGpu) && / 0\.40 x +0\.40 x$/.test(onGpu), onGpu);
  assertStringIncludes(describeComparisons([f32])[0], "per core");
});
