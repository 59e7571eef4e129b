import { adamWHyper, type AdamWStep, addAdamW, addAdamWRows } from "../../lib/tensor/ops/adamw.ts";
import { adamW } from "../reference/updates.ts";
import { BUILT_IN_ULPS, expressionTolerance } from "../tolerances.ts";
import { assertClose, assertSameBits, type KernelBench, randomNormal, testOnEachDevice } from "./support.ts";
import { adamWRows } from "../reference/address_embeddings.ts";

/** Each of a workgroup's 64 threads has 8 vec4: 2048 elements. */
const LENGTHS = [4, 252, 256, 260, 2044, 2048, 2052, 512 * 128];

const STEP: AdamWStep = {
  learningRate: 0.01,
  beta1: 0.8,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.1,
  step: 3,
};

function arrays(length: number) {
  return {
    parameter: randomNormal("parameter", length),
    gradient: randomNormal("gradient", length),
    expAvg: randomNormal("m", length),
    expAvgSq: randomNormal("v", length).map(Math.abs),
  };
}

async function step(bench: KernelBench, data: ReturnType<typeof arrays>, at: AdamWStep, factor: number) {
  const length = data.parameter.length;
  const tensors = {
    parameter: bench.output("parameter", [length], data.parameter),
    expAvg: bench.output("m", [length], data.expAvg),
    expAvgSq: bench.output("v", [length], data.expAvgSq),
    gradient: bench.input("gradient", [length], data.gradient),
    hyper: bench.input("hyper", [8], adamWHyper(at)),
    clip: bench.input("clip", [4], [factor, 0, 0, 0]),
  };
  await bench.run((program) => addAdamW(program, { ...tensors, length }));
  return await bench.read(tensors.parameter, tensors.expAvg, tensors.expAvgSq);
}

/** Parameters, m and v are below 5; the longest path is sqrt, division and 8 roundings. */
const TOLERANCE = expressionTolerance(BUILT_IN_ULPS.sqrt + BUILT_IN_ULPS.division + 8, 5);

testOnEachDevice("addAdamW() matches the float64 reference with a clipped gradient", async (bench) => {
  for (const length of LENGTHS) {
    const data = arrays(length);
    const factor = 0.5;
    const actual = await step(bench, data, STEP, factor);
    const repeated = await step(bench, data, STEP, factor);
    const expected = adamW(data, data.gradient.map((g) => g * factor), STEP);
    assertClose(actual[0], expected.parameter, TOLERANCE, `parameter ${length}`);
    assertClose(actual[1], expected.expAvg, TOLERANCE, `m ${length}`);
    assertClose(actual[2], expected.expAvgSq, TOLERANCE, `v ${length}`);
    actual.forEach((values, i) => assertSameBits(values, repeated[i], ["parameter", "m", "v"][i]));
    bench.clear();
  }
});

testOnEachDevice("addAdamW() steps by the learning rate from zero moments", async (bench) => {
  const data = { ...arrays(64), expAvg: new Float64Array(64), expAvgSq: new Float64Array(64) };
  const at = { ...STEP, step: 1, weightDecay: 0 };
  const [actual] = await step(bench, data, at, 1);
  const expected = data.parameter.map((value, i) => value - 0.01 * Math.sign(data.gradient[i]));
  assertClose(actual, expected, { relative: 1e-6, absolute: 1e-6 }, "parameter");
});

testOnEachDevice("addAdamW() only decays a parameter with a zero gradient", async (bench) => {
  const zero = new Float64Array(64);
  const data = { ...arrays(64), gradient: zero, expAvg: zero, expAvgSq: zero };
  const [actual] = await step(bench, data, STEP, 1);
  assertClose(actual, data.parameter.map((value) => value * (1 - 0.001)), TOLERANCE, "parameter");
});

testOnEachDevice("addAdamW() changes nothing when the clip factor is 0", async (bench) => {
  const data = arrays(260);
  data.gradient.fill(NaN);
  const actual = await step(bench, data, STEP, 0);
  [data.parameter, data.expAvg, data.expAvgSq].forEach((before, i) =>
    assertSameBits(actual[i], Float32Array.from(before), ["parameter", "m", "v"][i])
  );
});

const AT = { learningRate: 0.01, beta1: 0.8, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };
/** Like addAdamW(), plus the power of a beta, which is at most 0.95 after an update. */
const ROWS_TOLERANCE = expressionTolerance(BUILT_IN_ULPS.sqrt + BUILT_IN_ULPS.division + 64, 5);

function tableArrays(tableRows: number, width: number) {
  return {
    parameter: randomNormal("parameter", tableRows * width),
    expAvg: randomNormal("m", tableRows * width),
    expAvgSq: randomNormal("v", tableRows * width).map(Math.abs),
    numUpdates: Float64Array.from({ length: tableRows }, (_, row) => row % 7),
  };
}

for (const factor of [0.5, 0]) {
  const title = factor === 0
    ? "addAdamWRows() changes nothing when the clip factor is 0"
    : "addAdamWRows() updates only rows with slots, matching the float64 reference";
  testOnEachDevice(title, async (bench) => {
    const [tableRows, width, slots] = [300, 132, 64];
    const rows = [5, 299, 0, 17, 6];
    const data = tableArrays(tableRows, width);
    // Gradients of unused slots must not be read.
    const gradient = randomNormal("gradient", slots * width).fill(NaN, rows.length * width);
    const slotRows = new Uint32Array(1 + slots).fill(1);
    slotRows.set([rows.length, ...rows]);
    const state = {
      parameter: bench.output("parameter", [tableRows, width], data.parameter),
      expAvg: bench.output("m", [tableRows, width], data.expAvg),
      expAvgSq: bench.output("v", [tableRows, width], data.expAvgSq),
      numUpdates: bench.output("updates", [tableRows], data.numUpdates),
    };
    const tensors = {
      slotRows: bench.inputUint32("slot rows", [1 + slots], slotRows),
      gradient: bench.input("gradient", [slots, width], gradient),
      hyper: bench.input("hyper", [8], adamWHyper({ ...AT, step: 1 })),
      clip: bench.input("clip", [4], [factor, 0, 0, 0]),
    };
    await bench.run((program) => addAdamWRows(program, { ...state, ...tensors, slots, width }));
    const actual = await bench.read(state.parameter, state.expAvg, state.expAvgSq, state.numUpdates);
    const names = ["parameter", "expAvg", "expAvgSq", "numUpdates"] as const;
    if (factor === 0) {
      names.forEach((name, i) => assertSameBits(actual[i], Float32Array.from(data[name]), name));
      return;
    }
    const clipped = gradient.slice(0, rows.length * width).map((g) => g * factor);
    const expected = adamWRows(data, { rows, gradient: clipped, at: AT });
    names.forEach((name, i) => assertClose(actual[i], expected[name], ROWS_TOLERANCE, name));
  });
}
