import { assert, assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { ConfigError, FormatError, UsageError, UserError } from "../../lib/base/errors.ts";
import {
  describePlan,
  differences,
  flattenConfig,
  loadConfig,
  parseRunConfig,
  planRun,
  PRESETS,
  type RunConfig,
  withTotalTokens,
} from "../../lib/train/run_config.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

Deno.test("loadConfig() loads every preset", () => {
  for (const name of PRESETS.keys()) {
    const config = loadConfig(name);
    assertEquals(parseRunConfig(JSON.parse(JSON.stringify(config))), config);
    assertEquals(describePlan(planRun(config)).length, 2);
  }
});

Deno.test("loadConfig() applies --set in order, with the type of the key", () => {
  const config = loadConfig("20m", [
    "train.steps=7",
    "train.steps=9",
    "model.softcap=null",
    "model.qkNorm=false",
    "model.vocabulary=v1",
    "optim.groups.head.learningRate=1e-3",
  ]);
  assertEquals(config.train.steps, 9);
  assertEquals(config.model.softcap, null);
  assertEquals(config.model.qkNorm, false);
  assertEquals(config.model.vocabulary, "v1");
  assertEquals(config.optim.groups.head.learningRate, 0.001);
});

Deno.test("a configuration that extends a preset overrides single keys, and null unsets them", () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const load = (value: unknown) => {
    const path = join(folder, "config.json");
    Deno.writeTextFileSync(path, JSON.stringify(value));
    return loadConfig(path);
  };
  const demo = loadConfig("demo");
  assertEquals(load({ extends: "demo", train: { steps: 7 } }), {
    ...demo,
    train: { ...demo.train, steps: 7 },
  });
  assertEquals(load({ extends: "demo", model: { pairVectors: null } }).model.pairVectors, null);
  assertEquals(load({ extends: "campaign" }), loadConfig("campaign"));
  assertEquals(load({ extends: "demo", train: { rttDistanceWeights: [5, 2] } }).train.rttDistanceWeights, [
    5,
    2,
  ]);
  assertThrows(
    () => load({ extends: "dmeo" }),
    ConfigError,
    'extends: found "dmeo", expected the name of a preset; did you mean demo?',
  );
  assertThrows(() => load({ extends: { train: {} } }), ConfigError, "expected the name of a preset");
  assertThrows(() => load({ extends: "demo", trian: {} }), ConfigError, "trian");
});

/** Another value that is valid for the same key; unchanged if none is known. */
function otherValue(json: string): string {
  const value: unknown = JSON.parse(json);
  if (Array.isArray(value)) return `[${value.map((item) => otherValue(JSON.stringify(item)))}]`;
  if (typeof value === "string") return OTHER_VALUES[json] ?? json;
  if (typeof value === "boolean") return String(!value);
  if (value === 0) return "0.5";
  return String(Number.isInteger(value) ? 2 * Number(value) : Number(value) / 2);
}

const OTHER_VALUES: Record<string, string> = {
  '"v2"': '"v1"',
  '"relu2"': '"gelu"',
  '"random"': '"ordinal"',
  '"ordinal"': '"random"',
  '"f32"': '"f16"',
  '"f16"': '"f32"',
  '"wsd"': '"cosine"',
};

/** Values for keys that are null by default, or integers that are 0. */
const VALUES: Record<string, string> = {
  "data.maxMeasurements": "7",
  "train.rttDistanceWeights": "[0.5,0.25]",
  "model.prefixVectors.seed": "3",
  "model.pairVectors.seed": "3",
  "autosize.maxPasses": "8",
  "autosize.rowsPerKey": "2",
  "train.firstSteps": "7",
  "model.rttEncoding": '"log"',
  "model.places": '{"dropShare":0.25}',
};

/** For keys whose value is an object, one of its keys and a value. */
const PARTS: Record<string, [string, string]> = { "model.places": ["model.places.dropShare", "0.25"] };

const WITHOUT_V2 = [
  ...["model.prefixVectors=null", "model.pairVectors=null", "model.coordinates=null"],
  ...["train.rttByteWeight=1", "train.rttDistanceWeights=null"],
];

/** Keys that must change together with a key, to half or twice their value. */
const RELATED: Record<string, string[]> = {
  "model.vocabulary": WITHOUT_V2,
  "model.rttEncoding": [...WITHOUT_V2, "model.vocabulary=v1"],
  "train.microBatchSize": ["train.batchSize=32"],
  "data.timestampModes.full": ["data.timestampModes.none=0.65"],
  "data.timestampModes.partial": ["data.timestampModes.full=0.2"],
  "data.timestampModes.none": ["data.timestampModes.full=0.85"],
};

Deno.test("loadConfig() accepts --set for every key, and suggests the right one for each typo", () => {
  const config = loadConfig("demo");
  const keys = [...flattenConfig(config)].filter(([keyPath]) => !keyPath.endsWith(".kind"));
  assert(keys.length > 40, `only ${keys.length} keys`);
  for (const [keyPath, json] of keys) {
    const value = VALUES[keyPath] ?? otherValue(json);
    assert(value !== json, keyPath);
    const set = loadConfig("demo", [...RELATED[keyPath] ?? [], `${keyPath}=${value}`]);
    const [found, wanted] = PARTS[keyPath] ?? [keyPath, value];
    assertEquals(flattenConfig(set).get(found), wanted, keyPath);
    const name = keyPath.split(".").at(-1) ?? "";
    const mistyped = `${keyPath}s=${value}`;
    const error = assertThrows(() => loadConfig("demo", [mistyped]), ConfigError, `did you mean ${name}?`);
    assertEquals(error.keyPath, `${keyPath}s`);
    assertThrows(() => loadConfig("demo", [`${keyPath}=[]`]), ConfigError, keyPath);
  }
});

Deno.test("loadConfig() rejects unknown keys and wrong values, naming the key path", () => {
  const cases: [string, string, string][] = [
    ["train.stepz=3", "train.stepz", "did you mean steps?"],
    ["trian.steps=3", "trian", "did you mean train?"],
    ["model.numLayer=3", "model.numLayer", "did you mean numLayers?"],
    ["train.steps=many", "train.steps", '"many"'],
    ["train.steps=1.5", "train.steps", "expected an integer"],
    ["train.steps=0", "train.steps", "at least 1"],
    ["train.rttByteWeight=0", "train.rttByteWeight", "expected at least 0.000001"],
    ["data.maxMeasurements=0", "data.maxMeasurements", "expected at least 1"],
    ["model.byteVectors=near", "model.byteVectors", 'expected "random" or "ordinal"'],
    ["model.rttEncoding=log", "model.rttEncoding", "set it to null, or use v1"],
    ["model.rttEncoding=int", "model.rttEncoding", 'expected "float64" or "fixed" or "log" or "clipped"'],
    ["train.steps.x=3", "train.steps.x", "is a value and has no keys"],
    ["train.microBatchSize=3", "train.batchSize", "a multiple of train.microBatchSize (3)"],
    ["model.width=130", "model.width", "a multiple of 4"],
    ["__proto__.x=1", "__proto__", "unknown"],
    ["data.timestampModes.full=0.9", "data.timestampModes", "expected shares that add up to 1"],
    ["optim.schedule=cosin", "optim.schedule", 'expected "wsd" or "cosine"'],
    ["optim.groups.matrices.momentun=0.9", "optim.groups.matrices.momentun", "did you mean momentum?"],
  ];
  for (const [set, keyPath, message] of cases) {
    const error = assertThrows(() => loadConfig("demo", [set]), ConfigError, message);
    assertEquals(error.keyPath, keyPath);
    assertEquals(error.exitCode, 2);
  }
});

Deno.test("loadConfig() bounds every number of the configuration", () => {
  const numbers = [...flattenConfig(loadConfig("demo"))].filter(([, json]) =>
    typeof JSON.parse(json) === "number"
  );
  const keys = [...numbers.map(([keyPath]) => keyPath), ...Object.keys(VALUES)];
  assert(keys.length > 35, `only ${keys.length} keys`);
  for (const keyPath of keys) {
    for (const huge of ["1e10", "1e38", "1e308", "9007199254740992", "-1"]) {
      const value = keyPath === "train.rttDistanceWeights" ? `[1,${huge}]` : huge;
      const error = assertThrows(() => loadConfig("demo", [`${keyPath}=${value}`]), ConfigError, "found ");
      assert(error.keyPath.startsWith(keyPath), `${keyPath}=${value}: ${error.message}`);
    }
  }
});

Deno.test("loadConfig() rejects sizes that are too large in combination, and numbers unsuitable for float32", () => {
  const cases: [string[], string, string][] = [
    [["train.batchSize=1048576"], "train.batchSize", "expected at most 262144 for sequences of 256 tokens"],
    [["train.evalSequences=1048576"], "train.evalSequences", "for sequences of 256 tokens"],
    [["model.sequenceLength=65535", "train.batchSize=2048"], "train.batchSize", "expected at most 1024"],
    [
      ["model.numLayers=1024", "model.width=65536", "model.mlpWidth=262144"],
      "model",
      "parameters, expected at most 68719476736",
    ],
    [["optim.groups.head.epsilon=1e-50"], "optim.groups.head.epsilon", "at least 1e-30"],
    [["optim.groups.head.beta2=0.9999999999"], "optim.groups.head.beta2", "at most 0.999999"],
    [["model.softcap=1e-40"], "model.softcap", "at least 0.001"],
    [["optim.groups.matrices.learningRate=1e38"], "optim.groups.matrices.learningRate", "at most 1000"],
  ];
  for (const [sets, keyPath, message] of cases) {
    const error = assertThrows(() => loadConfig("demo", sets), ConfigError, message);
    assertEquals(error.keyPath, keyPath);
  }
  loadConfig("demo", ["train.batchSize=262144", "train.evalSequences=262144", "model.numLayers=1024"]);
  assertThrows(() => withTotalTokens(loadConfig("demo"), 2 ** 53), ConfigError, "train.steps");
});

Deno.test("loadConfig() rejects a --set without = and an unknown preset", () => {
  assertThrows(() => loadConfig("demo", ["train.steps"]), UsageError, "KEY=VALUE");
  assertThrows(() => loadConfig("dmeo"), UsageError, "did you mean demo?");
});

Deno.test("loadConfig() reads a file and reports what is wrong with it", () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const path = join(folder, "mine.json");
  assertThrows(() => loadConfig(path), UserError, "no such file");
  Deno.writeTextFileSync(path, "{");
  assertThrows(() => loadConfig(path), FormatError, "not JSON");
  Deno.writeTextFileSync(path, "[]");
  assertThrows(() => loadConfig(path), FormatError, "not a JSON object");
  Deno.writeTextFileSync(path, JSON.stringify(PRESETS.get("demo")));
  assertEquals(loadConfig(path, ["train.steps=3"]), loadConfig("demo", ["train.steps=3"]));
});

Deno.test("planRun() and withTotalTokens() count positions", () => {
  const config = loadConfig("demo", ["train.batchSize=32", "train.microBatchSize=8", "train.steps=10"]);
  const plan = planRun(config);
  assertEquals([plan.microBatchesPerStep, plan.tokensPerStep], [4, 32 * 256]);
  assertEquals(withTotalTokens(config, 3 * 32 * 256).train.steps, 3);
  assertEquals(withTotalTokens(config, 3 * 32 * 256 + 1).train.steps, 4);
});

Deno.test("planRun() divides a batch among ranks, in micro-batches that divide each share", () => {
  const config = loadConfig("demo", ["train.batchSize=24", "train.microBatchSize=8"]);
  const sizes = (numRanks: number) => {
    const { extent, teacherExtent, microBatchesPerStep } = planRun(config, numRanks);
    assertEquals([extent.sequencesPerStep, teacherExtent.batchSize], [24, extent.batchSize]);
    return [microBatchesPerStep, extent.batchSize];
  };
  assertEquals([1, 2, 4, 24].map(sizes), [[3, 8], [2, 6], [1, 6], [1, 1]]);
  assertThrows(() => planRun(config, 5), ConfigError, "a multiple of the number of ranks (5)");
  assertEquals(planRun(config, 2).config, config);
});

Deno.test("planRun() returns a value that cannot be changed", () => {
  const { config, extent } = planRun(loadConfig("demo")) as { config: RunConfig; extent: { dtype?: string } };
  assertThrows(() => config.train.steps = 1, TypeError);
  assertThrows(() => config.optim.groups.head.learningRate = 1, TypeError);
  assertThrows(() => extent.dtype = "f16", TypeError);
});

Deno.test("differences() finds keys that affect the losses and ignores the others", () => {
  const config = loadConfig("demo");
  const keysOf = (...sets: string[]) =>
    differences(config, loadConfig("demo", sets)).map(({ keyPath }) => keyPath);
  assertEquals(keysOf(), []);
  assertEquals(keysOf("train.logEverySteps=7", "train.keepCheckpoints=9"), []);
  assertEquals(differences(config, loadConfig("demo", ["model.softcap=null"])), [
    { keyPath: "model.softcap", a: "15", b: "null" },
  ]);
  assertEquals(keysOf("train.microBatchSize=4", "optim.groups.head.beta1=0.5", "optim.schedule=cosine"), [
    "optim.schedule",
    "optim.groups.head.beta1",
    "train.microBatchSize",
  ]);
});
