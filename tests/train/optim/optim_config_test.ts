import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { ConfigError } from "../../../lib/base/errors.ts";
import { momentumAt } from "../../../lib/train/optim/rules.ts";
import { groupOf, parseOptimConfig } from "../../../lib/train/optim/optim_config.ts";

const GROUP = { kind: "adamw", learningRate: 0.1 };
const GROUPS = { embedding: GROUP, head: GROUP, matrices: GROUP };

Deno.test("parseOptimConfig() fills in the defaults", () => {
  const config = parseOptimConfig({ groups: GROUPS });
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

function assertConfigError(value: unknown, keyPath: string, message: string) {
  const error = assertThrows(() => parseOptimConfig(value), ConfigError, message);
  assertEquals(error.keyPath, keyPath);
}

Deno.test("parseOptimConfig() refuses wrong keys and values by their dotted path", () => {
  assertConfigError({ groups: { ...GROUPS, heads: GROUP } }, "optim.groups.heads", "did you mean head?");
  assertConfigError(
    { groups: { ...GROUPS, head: { ...GROUP, learningrate: 1 } } },
    "optim.groups.head.learningrate",
    "did you mean learningRate?",
  );
  assertConfigError({ groups: { embedding: GROUP, head: GROUP } }, "optim.groups.matrices", "found nothing");
  assertConfigError(
    { groups: { ...GROUPS, head: { ...GROUP, kind: "sgd" } } },
    "optim.groups.head.kind",
    '"sgd"',
  );
  assertConfigError({ groups: GROUPS, decayShare: 2 }, "optim.decayShare", "found 2, expected at most 1");
  assertConfigError(
    { groups: { ...GROUPS, head: { ...GROUP, beta1: 1 } } },
    "optim.groups.head.beta1",
    "found 1, expected at most 0.999999",
  );
  assertConfigError(
    { groups: { ...GROUPS, head: { ...GROUP, learningRate: -1 } } },
    "optim.groups.head.learningRate",
    "found -1, expected more than 0",
  );
});

Deno.test("parseOptimConfig() takes Muon for the matrices only", () => {
  const muon = { kind: "muon", learningRate: 0.02 };
  assertEquals(parseOptimConfig({ groups: { ...GROUPS, matrices: muon } }).groups.matrices, {
    kind: "muon",
    learningRate: 0.02,
    momentum: 0.95,
    initialMomentum: 0.85,
    momentumWarmupSteps: 300,
    weightDecay: 0.1,
  });
  assertConfigError({ groups: { ...GROUPS, head: muon } }, "optim.groups.head.kind", "expected adamw");
  assertConfigError(
    { groups: { ...GROUPS, matrices: { ...muon, beta1: 0.5 } } },
    "optim.groups.matrices.beta1",
    "the key is unknown; known are kind, learningRate, momentum,",
  );
});

Deno.test("momentumAt() rises linearly over the warm-up and stays", () => {
  const { matrices } =
    parseOptimConfig({ groups: { ...GROUPS, matrices: { kind: "muon", learningRate: 1 } } }).groups;
  assert(matrices.kind === "muon");
  const actual = [0, 150, 300, 1000].map((step) => momentumAt(step, matrices));
  actual.forEach((value, i) => assertAlmostEquals(value, [0.85, 0.9, 0.95, 0.95][i], 1e-12));
  assertEquals(momentumAt(0, { ...matrices, momentumWarmupSteps: 0 }), 0.95);
});

Deno.test("groupOf() tells embedding, head and the matrices apart", () => {
  assertEquals(groupOf("wte.weight"), "embedding");
  assertEquals(groupOf("lm_head.weight"), "head");
  assertEquals(groupOf("blocks.11.attn.q_proj.weight"), "matrices");
});
