/**
 * The optimizer step of lib/optim in jax-js, for the comparison: clipping at the global norm, then Muon or
 * AdamW for each parameter.
 *
 * @module
 */
import type { Jax, JaxArray, JaxArrays } from "./peers_jax.ts";

/** How one parameter is updated. */
export interface JaxRule {
  kind: "adamw" | "muon";
  /** Which of the step's numbers hold for it. */
  group: string;
  /** (rows, columns). */
  shape: readonly number[];
  /** AdamW's. */
  beta1: number;
  beta2: number;
  epsilon: number;
}

/** The numbers of one step for a group of parameters; rates are as applied. */
export type JaxStepNumbers = {
  learningRate: number;
  weightDecay: number;
  /** Muon's mu. */
  momentum: number;
  /** AdamW's 1 - beta^step. */
  biasCorrection1: number;
  biasCorrection2: number;
};

const NEWTON_SCHULZ = [3.4445, -4.7750, 2.0315];
const NEWTON_SCHULZ_STEPS = 5;
const NEWTON_SCHULZ_EPSILON = 1e-7;

/** The state before the first step. */
export function jaxOptimizerState(jax: Jax, rules: Record<string, JaxRule>): Record<string, JaxArrays> {
  return Object.fromEntries(
    Object.entries(rules).map(([name, { kind, shape }]) => {
      const moments = kind === "muon" ? ["momentum"] : ["expAvg", "expAvgSq"];
      return [name, Object.fromEntries(moments.map((moment) => [moment, jax.numpy.zeros(shape)]))];
    }),
  );
}

/** A parameter, its gradient, state, and the numbers of the step as arrays of one element, which stay. */
interface UpdateInput {
  parameter: JaxArray;
  gradient: JaxArray;
  state: JaxArrays;
  numbers: JaxArrays;
}

/** What is to be after the step. */
interface Updated {
  parameter: JaxArray;
  state: JaxArrays;
}

/**
 * Makes the function of an update of all parameters.
 *
 * @returns (parameters, gradients, state, numbers of each group) -> parameters and state after the step.
 */
export function jaxUpdate(
  jax: Jax,
  rules: Record<string, JaxRule>,
  maxGradientNorm: number,
): (
  parameters: JaxArrays,
  gradients: JaxArrays,
  state: Record<string, JaxArrays>,
  numbers: Record<string, JaxArrays>,
) => [JaxArrays, Record<string, JaxArrays>] {
  const { numpy: np } = jax;
  return (parameters, gradients, state, numbers) => {
    const squares = Object.values(gradients).map((gradient) => np.square(gradient.ref).sum());
    const norm = np.sqrt(squares.reduce((sum, square) => sum.add(square)));
    const factor = np.minimum(np.array(Float32Array.of(maxGradientNorm)).reshape([]).div(norm), 1);
    const newParameters: JaxArrays = {};
    const newState: Record<string, JaxArrays> = {};
    for (const [name, rule] of Object.entries(rules)) {
      const input = {
        parameter: parameters[name],
        gradient: gradients[name].mul(factor.ref),
        state: state[name],
        numbers: numbers[rule.group],
      };
      const updated = rule.kind === "muon" ? muon(jax, rule, input) : adamW(jax, rule, input);
      newParameters[name] = updated.parameter;
      newState[name] = updated.state;
    }
    jax.tree.dispose([factor, numbers]);
    return [newParameters, newState];
  };
}

/** parameter (1 - learning rate * weight decay) - learning rate * update. */
function descend(parameter: JaxArray, update: JaxArray, { learningRate, weightDecay }: JaxArrays): JaxArray {
  const shrink = learningRate.ref.mul(weightDecay.ref);
  return parameter.ref.sub(parameter.mul(shrink)).sub(update.mul(learningRate.ref));
}

function adamW(
  { numpy: np }: Jax,
  rule: JaxRule,
  { parameter, gradient, state, numbers }: UpdateInput,
): Updated {
  const { beta1, beta2, epsilon } = rule;
  const expAvg = state.expAvg.mul(beta1).add(gradient.ref.mul(1 - beta1));
  const expAvgSq = state.expAvgSq.mul(beta2).add(np.square(gradient).mul(1 - beta2));
  const root = np.sqrt(expAvgSq.ref.div(numbers.biasCorrection2.ref)).add(epsilon);
  const update = expAvg.ref.div(numbers.biasCorrection1.ref).div(root);
  return { parameter: descend(parameter, update, numbers), state: { expAvg, expAvgSq } };
}

function muon(jax: Jax, rule: JaxRule, { parameter, gradient, state, numbers }: UpdateInput): Updated {
  const [rows, columns] = rule.shape;
  const lerp = (a: JaxArray, b: JaxArray, share: JaxArray) => a.ref.add(b.sub(a).mul(share));
  // momentum + (1 - mu) (gradient - momentum), then gradient + mu (momentum - gradient).
  const momentum = lerp(gradient.ref, state.momentum, numbers.momentum.ref);
  const update = orthogonalize(jax, lerp(gradient, momentum.ref, numbers.momentum.ref), rows > columns);
  const scaled = update.mul(Math.sqrt(Math.max(1, rows / columns)));
  return { parameter: descend(parameter, scaled, numbers), state: { momentum } };
}

function orthogonalize(jax: Jax, matrix: JaxArray, isTall: boolean): JaxArray {
  const { numpy: np } = jax;
  const [a, b, c] = NEWTON_SCHULZ;
  let x = isTall ? np.transpose(matrix) : matrix;
  const norm = np.sqrt(np.square(x.ref).sum());
  x = x.div(np.maximum(norm, NEWTON_SCHULZ_EPSILON));
  for (let step = 0; step < NEWTON_SCHULZ_STEPS; step++) {
    const gram = np.matmul(x.ref, np.transpose(x.ref));
    const squared = np.matmul(gram.ref, gram.ref);
    const polynomial = gram.mul(b).add(squared.mul(c));
    x = x.ref.mul(a).add(np.matmul(polynomial, x));
  }
  return isTall ? np.transpose(x) : x;
}
