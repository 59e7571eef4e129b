/**
 * The optimizer's section of the run configuration.
 *
 * Design 04-model ("Optimizers"). Parameters fall into three groups, each with its own rule: the token
 * embedding, the output head, and the matrices inside the blocks.
 *
 * @module
 */
import { z } from "zod";
import { parseConfig } from "../cli/config.ts";

const share = z.number().min(0).max(1);
const momentum = z.number().min(0).lt(1);

/** AdamW: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019. */
const adamWSchema = z.strictObject({
  kind: z.literal("adamw"),
  /** Learning rate at width 768, before the schedule. */
  learningRate: z.number().positive(),
  /** Decay of the first moment. */
  beta1: momentum.default(0.8),
  /** Decay of the second moment. */
  beta2: momentum.default(0.95),
  /** Added to the root of the second moment. */
  epsilon: z.number().positive().default(1e-8),
  /** Decoupled weight decay at the start; it falls linearly to 0 over the run. */
  weightDecay: z.number().min(0).default(0.1),
});

/** Muon, for matrices only: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024. */
const muonSchema = z.strictObject({
  kind: z.literal("muon"),
  /** Learning rate at width 768, before the schedule. */
  learningRate: z.number().positive(),
  /** mu after the warm-up. */
  momentum: momentum.default(0.95),
  /** mu at the start. */
  initialMomentum: momentum.default(0.85),
  /** Steps over which mu rises linearly. */
  momentumWarmupSteps: z.int().min(0).default(300),
  /** Decoupled weight decay at the start; it falls linearly to 0 over the run. */
  weightDecay: z.number().min(0).default(0.1),
});

/** One rule for a group of parameters; each kind of rule has its own keys. */
const groupSchema = z.discriminatedUnion("kind", [adamWSchema, muonSchema]);

/** The rule of a group of parameters. */
export type GroupConfig = z.infer<typeof groupSchema>;

/** Names of the parameter groups. */
export type GroupName = "embedding" | "head" | "matrices";

/** Schema of the section `optim`. */
export const optimConfigSchema = z.strictObject({
  /** Gradients are scaled down to this global norm. */
  maxGradientNorm: z.number().positive().default(1),
  /** Share of the steps over which the learning rate rises from 0. */
  warmupShare: share.default(0.01),
  /** Share of the steps, at the end, over which the learning rate falls linearly to 0. */
  decayShare: share.default(0.5),
  groups: z.strictObject({
    /** `wte.weight`. */
    embedding: adamWSchema,
    /** `lm_head.weight`. */
    head: adamWSchema,
    /** Every weight inside the blocks. */
    matrices: groupSchema,
  }),
});

/** The section `optim` of the run configuration. */
export type OptimConfig = z.infer<typeof optimConfigSchema>;

/**
 * Checks the section `optim`.
 *
 * @throws {ConfigError} Naming the key.
 */
export function parseOptimConfig(value: unknown): OptimConfig {
  return parseConfig<OptimConfig>(optimConfigSchema, value, "optim");
}

/** The group that a parameter belongs to, by its name (02-formats 2.7). */
export function groupOf(parameterName: string): GroupName {
  if (parameterName.startsWith("wte.")) return "embedding";
  return parameterName.startsWith("lm_head.") ? "head" : "matrices";
}
