/**
 * The section `optim` of the run configuration.
 *
 * Parameters fall into four groups, each with its own rule: the token embedding, the address embeddings, the
 * output head, and the matrices inside the blocks. See lib/train/optim/README.md.
 *
 * @module
 */
import * as z from "zod";
import type { ScheduleShape } from "./schedule.ts";

const share = z.number().min(0).max(1);
/** The bound keeps 1 - momentum precise enough in float32. */
const momentum = z.number().min(0).max(0.999999);
/** Larger rates diverge. */
const learningRate = z.number().positive().max(1000);
const weightDecay = z.number().min(0).max(100);

/** The rule of a group of parameters. Each kind has its own keys. */
type GroupConfig = AdamWConfig | MuonConfig;

/** AdamW: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019. */
export type AdamWConfig = z.infer<typeof adamWSchema>;
const adamWSchema = z.strictObject({
  /** Distinguishes the rules. */
  kind: z.literal("adamw"),
  /** Learning rate at width 768, before the schedule; at most 1,000. */
  learningRate,
  /** Decay of the first moment, 0 to 0.999999. */
  beta1: momentum.default(0.8),
  /** Decay of the second moment, 0 to 0.999999. */
  beta2: momentum.default(0.95),
  /** Added to the root of the second moment; 1e-30 to 1, so that it is not 0 in float32. */
  epsilon: z.number().min(1e-30).max(1).default(1e-8),
  /** Decoupled weight decay at the start, 0 to 100; it falls linearly to 0 over the run. */
  weightDecay: weightDecay.default(0.1),
});

/** Muon, for matrices only: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024. */
export type MuonConfig = z.infer<typeof muonSchema>;
const muonSchema = z.strictObject({
  /** Distinguishes the rules. */
  kind: z.literal("muon"),
  /** Learning rate at width 768, before the schedule; at most 1,000. */
  learningRate,
  /** mu after the warm-up, 0 to 0.999999. */
  momentum: momentum.default(0.95),
  /** mu at the start, 0 to 0.999999. */
  initialMomentum: momentum.default(0.85),
  /** Steps over which mu rises linearly, up to 1,000,000,000. */
  momentumWarmupSteps: z.int().min(0).max(1e9).default(300),
  /** Decoupled weight decay at the start, 0 to 100; it falls linearly to 0 over the run. */
  weightDecay: weightDecay.default(0.1),
});

export type GroupName = "embedding" | "rows" | "head" | "matrices";

/** @internal The section `optim` of the run configuration. */
export interface OptimConfig extends ScheduleShape {
  /** Gradients are scaled down to this global norm, 1e-9 to 1e9. */
  maxGradientNorm: number;
  /**
   * The rules of `wte.weight` (embedding), `address_embed.weight` (rows), `lm_head.weight` (head) and every
   * weight inside the blocks (matrices).
   */
  groups: { embedding: AdamWConfig; rows: AdamWConfig; head: AdamWConfig; matrices: GroupConfig };
}

export const optimConfigSchema: z.ZodType<OptimConfig> = z.strictObject({
  maxGradientNorm: z.number().min(1e-9).max(1e9).default(1),
  schedule: z.enum(["wsd", "cosine"]).default("wsd"),
  warmupShare: share.default(0.01),
  decayShare: share.default(0.5),
  finalRatio: share.default(0),
  groups: z.strictObject({
    embedding: adamWSchema,
    rows: adamWSchema.prefault({ kind: "adamw", learningRate: 0.02, beta1: 0.9, weightDecay: 0 }),
    head: adamWSchema,
    matrices: z.discriminatedUnion("kind", [adamWSchema, muonSchema]),
  }),
});

export function groupOf(parameterName: string): GroupName {
  if (parameterName.startsWith("wte.")) return "embedding";
  if (parameterName.startsWith("address_embed.")) return "rows";
  return parameterName.startsWith("lm_head.") ? "head" : "matrices";
}
