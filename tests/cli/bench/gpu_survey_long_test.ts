import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import type { ProductRow } from "../../../lib/cli/bench/gpu_parts.ts";
import { type SurveyRows, surveyRows } from "../../../lib/cli/bench/gpu_survey.ts";
import { checkKernels, type CheckRow, isRight } from "../../../lib/cli/bench/gpu_checks.ts";
import { type Finding, findingsOf } from "../../../lib/cli/bench/gpu_report.ts";
import { describeQuick, quickSteps } from "../../../lib/cli/bench/gpu_quick.ts";
import { hasFault, runSteps } from "../../../lib/cli/bench/gpu_steps.ts";
import { UserError } from "../../../lib/base/errors.ts";
import { Gpu } from "../../../lib/tensor/device.ts";
import { KERNEL_SOURCES, type KernelName } from "../../../lib/tensor/kernels.ts";
import { ENOUGH_TILES, SPLIT_RULE, splitsOf } from "../../../lib/tensor/ops/gemm.ts";
import { KernelRegistry } from "../../../lib/tensor/registry.ts";
import type { DType } from "../../../lib/tensor/tensor.ts";
import { gpuBench } from "../../../tasks/bench.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

const ADAPTER = {
  name: "a GPU",
  engine: "deno" as const,
  vendor: "",
  subgroupSize: 32,
  enablesSubgroups: false,
  isSoftware: false,
  features: [],
  limits: {},
};
const QUERY = { MAX_ROWS: 8192, MAX_CONTINUATIONS: 1024 };

function adviceOn(rows: Partial<SurveyRows>, constant: string): string {
  const findings = findingsOf({ ...surveyRows([]), ...rows }, ADAPTER, QUERY);
  return findings.find((finding) => finding.constant === constant)?.advice ?? "no such finding";
}

function productOf(row: Partial<ProductRow>): ProductRow {
  const shape = { kind: "NT", m: 128, n: 128, k: 64, dtype: "f32" } as const;
  return { part: "fill", ...shape, kernel: "gemm_tiled", tile: 64, splits: 1, gigaflopsPerS: 1, ...row };
}

Deno.test("findingsOf() covers only constants that exist in the files it names", () => {
  const findings = findingsOf(surveyRows([]), ADAPTER, QUERY);
  assertEquals(new Set(findings.map(({ constant }) => constant)).size, findings.length);
  for (const { constant, file, present } of findings) {
    const text = Deno.readTextFileSync(new URL(`../../../${file}`, import.meta.url));
    assertStringIncludes(text, constant.split(".").at(-1)?.replace("()", "") ?? "");
    if (/^\d/.test(present)) assertStringIncludes(text, present);
  }
  assert(findings.every(({ advice }) => advice === "not measured"));
});

Deno.test("findingsOf() sets the threshold of large tiles to where they start to win", () => {
  const sizes = (winsFrom: number) =>
    [16, 64, 256, 1024].flatMap((tiles) =>
      [64, 128].map((tile) =>
        productOf({ m: 128 * tiles, tile, gigaflopsPerS: (tile === 128) === (tiles >= winsFrom) ? 10 : 8 })
      )
    );
  for (const winsFrom of [16, 64, 1024]) {
    assertEquals(adviceOn({ products: sizes(winsFrom) }, "ENOUGH_TILES"), `set to ${winsFrom}`);
  }
  assertEquals(adviceOn({ products: sizes(Infinity) }, "ENOUGH_TILES"), "set to Infinity");
  assertEquals(adviceOn({ products: sizes(ENOUGH_TILES) }, "ENOUGH_TILES"), "stays");
});

Deno.test("findingsOf() finds the split rule with the fastest gradients", () => {
  const shapes = [[96, 96], [512, 512], [640, 2560], [1536, 1536]].flatMap(([m, n]) =>
    [2048, 16384].map((k) => ({ m, n, k }))
  );
  for (
    const [change, constant] of [
      [{}, ""],
      [{ enoughWorkgroups: 512 }, "SPLIT_RULE.enoughWorkgroups"],
      [{ maxSplits: 4 }, "SPLIT_RULE.maxSplits"],
    ] as const
  ) {
    const products = shapes.flatMap((shape) => {
      const best = splitsOf(shape, { ...SPLIT_RULE, ...change });
      return [1, 2, 4, 8, 16, 32].map((splits) => {
        const gigaflopsPerS = 100 / (1 + Math.abs(Math.log2(splits / best)));
        return productOf({ part: "splits", kind: "TN", ...shape, splits, gigaflopsPerS });
      });
    });
    for (const key of ["enoughWorkgroups", "minSplitK", "maxSplits"].map((key) => `SPLIT_RULE.${key}`)) {
      const advice = adviceOn({ products }, key);
      const wanted = key === constant ? `set to ${Object.values(change)[0]}` : "stays";
      assertEquals(advice, wanted, `${key} for ${JSON.stringify(change)}`);
    }
  }
});

Deno.test("findingsOf() derives the other constants from the measurements", () => {
  const decoding = [132, 1024, 8192, 32768].map((rows) => ({
    kind: "one step" as const,
    promptTokens: 20,
    rowsPerPrompt: 132,
    steps: 1,
    rows,
    seconds: 1,
    tokensPerS: Math.min(rows, 20_000),
  }));
  assertEquals(adviceOn({ decoding }, "MAX_ROWS"), "set to 32768");
  assertEquals(adviceOn({ decoding: decoding.slice(0, 3) }, "MAX_ROWS"), "stays");
  const flat = decoding.map((row) => ({ ...row, tokensPerS: 7 }));
  assertEquals(adviceOn({ decoding: flat }, "MAX_ROWS"), "stays");
  const best = decoding.map((row) => ({ ...row, tokensPerS: row.rows === 1024 ? 20_000 : 5000 }));
  assertEquals(adviceOn({ decoding: best }, "MAX_ROWS"), "set to 1024");
  const submit = { submitS: 0.0005, callS: 0.1, settledS: 0.11 };
  assertEquals(adviceOn({ submits: [submit] }, "Gpu.timeS()"), "stays");
  assertStringIncludes(adviceOn({ submits: [{ ...submit, callS: 0.001 }] }, "Gpu.timeS()"), "set to await");
});

Deno.test("the checks of an adapter detect kernels with wrong results", async () => {
  using gpu = await Gpu.open();
  const wrongIn = async (
    dtypes: readonly DType[],
    sources: ConstructorParameters<typeof KernelRegistry>[1] = {},
  ) => {
    const registry = new KernelRegistry(gpu, sources);
    const rows: CheckRow[] = [];
    for (const dtype of dtypes) rows.push(...await checkKernels(registry, dtype));
    // As if sent by a child.
    const received: CheckRow[] = JSON.parse(JSON.stringify(rows));
    return received.filter((row) => !isRight(row)).map(({ name }) => name);
  };
  assertEquals(await wrongIn(["f32", "f16"]), []);
  const changes: [KernelName, string, string, string[]][] = [
    ["rms_norm_backward", "* s * s;", "* s * s * 2.0;", ["rmsNorm backward", "slope of a model"]],
    ["cross_entropy", "var d = p - wanted", "var d = p - 1.01 * wanted", ["cross-entropy backward"]],
    ["adamw", "keep - step", "keep - 1.01 * step", ["AdamW"]],
    ["rms_norm_forward", "inverseSqrt(", "inverseSqrt(-1f - ", [
      "rmsNorm, f32",
      "rmsNorm, f16",
      "checkModel() in f32",
    ]],
  ];
  if (gpu.info.subgroupSize === 8) {
    const stored = "dv[target_part] = d_value_result";
    changes.push([
      "attention_backward_key_subgroup8",
      stored,
      `${stored}.part[i] * 1.02 + 0 * d_value_result`,
      [
        "attention, heads of 64, dv",
        "attention, heads of 128, dv",
      ],
    ]);
  }
  for (const [kernel, text, changed, wrong] of changes) {
    const source = KERNEL_SOURCES[kernel].replace(text, changed);
    assert(source !== KERNEL_SOURCES[kernel], kernel);
    const dtypes: DType[] = kernel === "rms_norm_forward" ? ["f32", "f16"] : ["f32"];
    const found = await wrongIn(dtypes, { sources: { [kernel]: source } });
    for (const name of wrong) assert(found.some((row) => row.startsWith(name)), `${name} in ${found}`);
  }
});

Deno.test("bench gpu writes its measurements and a line for each constant, and --overwrite measures again", () =>
  withFolder(async (folder) => {
    const output = join(folder, "gpu");
    const args = ["--output", output, "--scale", "small", "--quiet"];
    const run = async (...more: string[]) => {
      const result = await gpuBench.run([...args, ...more]);
      assert("json" in result);
      const json = JSON.parse(Deno.readTextFileSync(join(output, "gpu.json")));
      for (const line of json.lines) assertStringIncludes(result.text, line);
      return json;
    };
    const json = await run();
    const unmeasured = json.steps.filter(({ reason }: { reason?: string }) => reason !== undefined);
    assertEquals(unmeasured, []);
    assert(json.findings.every(({ advice }: Finding) => advice !== "not measured"));
    assert(json.training[0].tokensPerS > 0 && json.training[0].plannedMemoryBytes > 1e6);
    const page = Deno.readTextFileSync(join(output, "gpu.html"));
    for (const text of ["ENOUGH_TILES", "<svg", "tokensPerS", "Gradients by splits"]) {
      assertStringIncludes(page, text);
    }
    await assertRejects(() => run("--max-time", "0.001s"), UserError, "--overwrite");
    // Leftovers of a killed run.
    Deno.mkdirSync(join(output, ".work/next"), { recursive: true });
    Deno.writeTextFileSync(join(output, ".work/next/gpu.json"), "{");
    const short = await run("--max-time", "0.001s", "--overwrite");
    assertEquals(short.products, []);
    assert(short.steps.every(({ reason }: { reason?: string }) => reason === "the time limit was reached"));
  }));

Deno.test("bench gpu --quick measures and describes every part without a fault", () =>
  withFolder(async (folder) => {
    const named = { config: "demo", set: ["train.batchSize=4", "train.microBatchSize=4"] };
    const one = { kind: "one step", promptTokens: 20, rowsPerPrompt: 132, steps: 1 } as const;
    const many = { kind: "many steps", promptTokens: 48, rowsPerPrompt: 24, steps: 2 } as const;
    const plan = {
      isSoftware: true,
      usual: named,
      large: named,
      whole: named,
      queries: [one, many] as const,
    };
    // Peers may need the network.
    const steps = quickSteps(plan).filter(({ part }) => part.kind !== "peer");
    const ends = await runSteps(steps, {
      signal: new AbortController().signal,
      leftS: () => 600,
      onStep() {},
      onEnd() {},
    });
    const hasDawn = ends.some(({ part, result }) =>
      part.kind === "adapter" && part.gpu.engine === "dawn" && result
    );
    for (const { name, part, reason } of ends) {
      if (hasDawn || "gpu" in part && part.gpu.engine !== "dawn") assertEquals(reason, undefined, name);
    }
    assert(!hasFault(ends));
    const text = describeQuick(ends, plan);
    for (
      const part of [
        "checks on deno: 0 of ",
        "Newton-Schulz",
        "queries/s",
        "as chosen",
        "rows per workgroup",
      ]
    ) {
      assertStringIncludes(text, part);
    }
    const output = join(folder, "gpu");
    const args = ["--quick", "--output", output, "--scale", "small", "--quiet", "--max-time", "0.001s"];
    const result = await gpuBench.run(args);
    assertStringIncludes(result.text, "the time limit was reached");
    const json = JSON.parse(Deno.readTextFileSync(join(output, "gpu.json")));
    assert(json.steps.every(({ reason }: { reason?: string }) => reason === "the time limit was reached"));
  }));
