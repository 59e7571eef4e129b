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
import type { ScheduleShape } from "./schedule.ts";

const share = z.number().min(0).max(1);
const momentum = z.number().min(0).lt(1);

/** AdamW: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019. */
export interface AdamWConfig {
  /** Tells the rules apart. */
  kind: "adamw";
  /** Learning rate at width 768, before the schedule. */
  learningRate: number;
  /** Decay of the first moment. */
  beta1: number;
  /** Decay of the second moment. */
  beta2: number;
  /** Added to the root of the second moment. */
  epsilon: number;
  /** Decoupled weight decay at the start; it falls linearly to 0 over the run. */
  weightDecay: number;
}

/** Muon, for matrices only: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024. */
export interface MuonConfig {
  /** Tells the rules apart. */
  kind: "muon";
  /** Learning rate at width 768, before the schedule. */
  learningRate: number;
  /** mu after the warm-up. */
  momentum: number;
  /** mu at the start. */
  initialMomentum: number;
  /** Steps over which mu rises linearly. */
  momentumWarmupSteps: number;
  /** Decoupled weight decay at the start; it falls linearly to 0 over the run. */
  weightDecay: number;
}

/** The rule of a group of parameters; each kind of rule has its own keys. */
export type GroupConfig = AdamWConfig | MuonConfig;

const adamWSchema = z.strictObject({
  kind: z.literal("adamw"),
  learningRate: z.number().positive(),
  beta1: momentum.default(0.8),
  beta2: momentum.default(0.95),
  epsilon: z.number().positive().default(1e-8),
  weightDecay: z.number().min(0).default(0.1),
});

const muonSchema = z.strictObject({
  kind: z.literal("muon"),
  learningRate: z.number().positive(),
  momentum: momentum.default(0.95),
  initialMomentum: momentum.default(0.85),
  momentumWarmupSteps: z.int().min(0).default(300),
  weightDecay: z.number().min(0).default(0.1),
});

/** Names of the parameter groups. */
export type GroupName = "embedding" | "head" | "matrices";

/** The section `optim` of the run configuration. */
export interface OptimConfig extends ScheduleShape {
  /** Gradients are scaled down to this global norm. */
  maxGradientNorm: number;
  /** The rules of `wte.weight` (embedding), `lm_head.weight` (head) and every weight inside the blocks (matrices). */
  groups: { embedding: AdamWConfig; head: AdamWConfig; matrices: GroupConfig };
}

/** Schema of the section `optim`, with its defaults. */
export const optimConfigSchema: z.ZodType<OptimConfig> = z.strictObject({
  maxGradientNorm: z.number().positive().default(1),
  schedule: z.enum(["wsd", "cosine"]).default("wsd"),
  warmupShare: share.default(0.01),
  decayShare: share.default(0.5),
  finalRatio: share.default(0),
  groups: z.strictObject({
    embedding: adamWSchema,
    head: adamWSchema,
    matrices: z.discriminatedUnion("kind", [adamWSchema, muonSchema]),
  }),
});

/**
 * Checks the section `optim`.
 *
 * @throws {ConfigError} Naming the key.
 */
export function parseOptimConfig(value: unknown): OptimConfig {
  return parseConfig(optimConfigSchema, value, "optim");
}

/** The group that a parameter belongs to, by its name (02-formats 2.7). */
export function groupOf(parameterName: string): GroupName {
  if (parameterName.startsWith("wte.")) return "embedding";
  return parameterName.startsWith("lm_head.") ? "head" : "matrices";
}
