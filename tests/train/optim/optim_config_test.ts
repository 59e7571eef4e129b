import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { parseConfig } from "../../../lib/base/config_file.ts";
import { ConfigError } from "../../../lib/base/errors.ts";
import { momentumAt } from "../../../lib/train/optim/rules.ts";
import { groupOf, optimConfigSchema } from "../../../lib/train/optim/optim_config.ts";
import { learningRateFactor, weightDecayFactor, widthFactor } from "../../../lib/train/optim/schedule.ts";

const parse = (value: unknown) => parseConfig(optimConfigSchema, value, "optim");
const GROUP = { kind: "adamw", learningRate: 0.1 };
const GROUPS = { embedding: GROUP, head: GROUP, matrices: GROUP };

Deno.test("the section optim fills in the defaults", () => {
  const config = parse({ groups: GROUPS });
  assertEquals(config.maxGradientNorm, 1);
  assertEquals([config.schedule, config.finalRatio], ["wsd", 0]);
  assertEquals([config.warmupShare, config.decayShare], [0.01, 0.5]);
  assertEquals(config.groups.head, {
    kind: "adamw",
    learningRate: 0.1,
    beta1: 0.8,
    beta2: 0.95,
    epsilon: 1e-8,
    weightDecay: 0.1,
  });
});

Deno.test("the optim section accepts Muon for the matrices only", () => {
  const muon = { kind: "muon", learningRate: 0.02 };
  assertEquals(parse({ groups: { ...GROUPS, matrices: muon } }).groups.matrices, {
    kind: "muon",
    learningRate: 0.02,
    momentum: 0.95,
    initialMomentum: 0.85,
    momentumWarmupSteps: 300,
    weightDecay: 0.1,
  });
  for (
    const [groups, keyPath, message] of [
      [{ ...GROUPS, head: muon }, "optim.groups.head.kind", 'expected "adamw"'],
      [{ ...GROUPS, matrices: { ...muon, beta1: 0.5 } }, "optim.groups.matrices.beta1", "the key is unknown"],
    ] as const
  ) {
    assertEquals(assertThrows(() => parse({ groups }), ConfigError, message).keyPath, keyPath);
  }
});

Deno.test("momentumAt() rises linearly over the warm-up and then stays constant", () => {
  const { matrices } = parse({ groups: { ...GROUPS, matrices: { kind: "muon", learningRate: 1 } } }).groups;
  assert(matrices.kind === "muon");
  const actual = [0, 150, 300, 1000].map((step) => momentumAt(step, matrices));
  actual.forEach((value, i) => assertAlmostEquals(value, [0.85, 0.9, 0.95, 0.95][i], 1e-12));
  assertEquals(momentumAt(0, { ...matrices, momentumWarmupSteps: 0 }), 0.95);
});

Deno.test("groupOf() distinguishes embedding, head and matrices", () => {
  assertEquals(groupOf("wte.weight"), "embedding");
  assertEquals(groupOf("lm_head.weight"), "head");
  assertEquals(groupOf("blocks.11.attn.q_proj.weight"), "matrices");
});

const WSD = { schedule: "wsd", warmupShare: 0.01, decayShare: 0.5, finalRatio: 0 } as const;
const COSINE = { ...WSD, schedule: "cosine" } as const;

Deno.test("learningRateFactor() rises over the first 1 %, stays at 1 and falls to 0 over the last half", () => {
  const factor = (step: number) => learningRateFactor(step, 1000, WSD);
  assertEquals([0, 4, 8].map(factor), [0.1, 0.5, 0.9]);
  assertEquals([9, 10, 250, 499, 500].map(factor), [1, 1, 1, 1, 1]);
  assertAlmostEquals(factor(501), 0.998);
  assertAlmostEquals(factor(750), 0.5);
  assertAlmostEquals(factor(999), 0.002);
  assertEquals([1000, 2000].map(factor), [0, 0]);
});

Deno.test("learningRateFactor() needs neither warm-up nor decay, and works for short runs", () => {
  assertEquals(
    [0, 5, 9].map((step) => learningRateFactor(step, 10, { ...WSD, warmupShare: 0, decayShare: 0 })),
    [
      1,
      1,
      1,
    ],
  );
  assertEquals([0, 1].map((step) => learningRateFactor(step, 2, WSD)), [1, 1]);
  assertEquals(learningRateFactor(0, 1, WSD), 1);
  // Where the phases overlap, the smaller factor counts.
  assertEquals(learningRateFactor(4, 10, { ...WSD, warmupShare: 1, decayShare: 1 }), 0.5);
});

Deno.test("learningRateFactor() falls along half a cosine after the warm-up", () => {
  const numSteps = 1000;
  const warmupSteps = 10;
  for (let step = 0; step < numSteps; step++) {
    const phase = Math.PI * (step - warmupSteps) / (numSteps - warmupSteps);
    const expected = step < warmupSteps ? (step + 1) / warmupSteps : (1 + Math.cos(phase)) / 2;
    assertAlmostEquals(learningRateFactor(step, numSteps, COSINE), expected, 1e-12, `step ${step}`);
  }
  assertEquals(learningRateFactor(numSteps, numSteps, COSINE), 0);
  // Without a warm-up it equals torch's CosineAnnealingLR: lr(25) and lr(75) of 100.
  const bare = (step: number) => learningRateFactor(step, 100, { ...COSINE, warmupShare: 0 });
  [0, 25, 50, 75].forEach((step, i) =>
    assertAlmostEquals(bare(step), [1, 0.8535533905932737, 0.5, 0.14644660940672627][i], 1e-12)
  );
});

Deno.test("learningRateFactor() falls to the final ratio, in both schedules", () => {
  for (const shape of [WSD, COSINE]) {
    const floored = { ...shape, finalRatio: 0.1 };
    for (const step of [0, 5, 500, 600, 750, 999]) {
      const plain = learningRateFactor(step, 1000, shape);
      const expected = step < 10 ? plain : 0.1 + 0.9 * plain;
      assertAlmostEquals(
        learningRateFactor(step, 1000, floored),
        expected,
        1e-12,
        `${shape.schedule} ${step}`,
      );
    }
    assertEquals(learningRateFactor(1000, 1000, floored), 0.1);
    assertEquals(learningRateFactor(3, 10, { ...shape, warmupShare: 0, finalRatio: 1 }), 1);
  }
});

Deno.test("weightDecayFactor() falls linearly from 1 to 0", () => {
  assertEquals([0, 25, 50, 100, 101].map((step) => weightDecayFactor(step, 100)), [1, 0.75, 0.5, 0, 0]);
});

Deno.test("widthFactor() is 1 at width 768 and falls with the square root of the width", () => {
  assertEquals(widthFactor(768), 1);
  assertAlmostEquals(widthFactor(192), 2);
  assertAlmostEquals(widthFactor(3072), 0.5);
});
