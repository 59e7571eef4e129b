import { assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { type EngineChoice, matrixUnits, requestAdapter } from "../../lib/tensor/engine.ts";
import { runDeno } from "../cli/process.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

const ENGINE = new URL("../../lib/tensor/engine.ts", import.meta.url);

/** An adapter that lists matrices, such as `f16>f32 16x16x16`. */
function adapterWith(configs: readonly string[], lanes: number, features: readonly string[]): GPUAdapter {
  const subgroupMatrixConfigs = configs.map((config) => {
    const [componentType, resultComponentType, M, N, K] = config.split(/[> x]/);
    return { componentType, resultComponentType, M: Number(M), N: Number(N), K: Number(K) };
  });
  const info = { subgroupMinSize: lanes, subgroupMaxSize: lanes, subgroupMatrixConfigs };
  return { info, features: new Set(features) } as unknown as GPUAdapter;
}

const LAVAPIPE = ["f16>f16 8x8x8", "f16>f32 8x8x8", "u8>u32 8x8x8", "i8>i32 8x8x8"];
const NVIDIA = [
  "f16>f16 16x16x16",
  "f16>f32 16x8x16",
  "f16>f32 16x8x8",
  "f16>f32 16x16x16",
  "i8>i32 16x16x32",
];
const FEATURES = ["subgroups", "shader-f16", "chromium-experimental-subgroup-matrix"];

Deno.test("matrixUnits() accepts square f16 matrices with f32 sums and the lanes that the kernels expect", () => {
  const found = (...of: Parameters<typeof adapterWith>) => matrixUnits(adapterWith(...of));
  assertEquals(found(NVIDIA, 32, FEATURES), { side: 16, lanes: 32 });
  assertEquals(found(LAVAPIPE, 8, FEATURES), { side: 8, lanes: 8 });
  assertEquals(found(LAVAPIPE, 16, FEATURES), undefined);
  assertEquals(found(NVIDIA.filter((each) => each !== "f16>f32 16x16x16"), 32, FEATURES), undefined);
  assertEquals(found(NVIDIA, 32, ["subgroups", "chromium-experimental-subgroup-matrix"]), undefined);
  assertEquals(matrixUnits({ info: {}, features: new Set() } as unknown as GPUAdapter), undefined);
});

Deno.test("requestAdapter() logs one line with the engine and the reason, if there was a choice", async () => {
  const lines: string[] = [];
  const onLog = (line: string) => lines.push(line);
  const engineOf = async (engine: EngineChoice, dtype?: "f32") =>
    (await requestAdapter({ engine, dtype, onLog })).engine;
  assertEquals(await engineOf("auto"), "deno");
  assertEquals(lines, []);
  assertEquals(await engineOf("auto", "f32"), "deno");
  assertEquals(lines, ["engine: Deno's WebGPU, since the model is stored in f32"]);
  assertEquals([await engineOf("deno"), await engineOf("deno")], ["deno", "deno"]);
  assertEquals(lines.slice(1), ["engine: Deno's WebGPU, as chosen"]);
});

/** A checkout with only the engine; `index`: the main module of its package. */
function makeCheckout(folder: TemporaryFolder, index?: string): string {
  for (const path of ["lib/tensor/engine.ts", "lib/base/errors.ts"]) {
    Deno.mkdirSync(folder.at(path.slice(0, path.lastIndexOf("/"))), { recursive: true });
    Deno.copyFileSync(fromFileUrl(new URL(`../../${path}`, ENGINE)), folder.at(path));
  }
  if (index !== undefined) {
    const place = "lib/tensor/dawn/node_modules/webgpu";
    Deno.mkdirSync(folder.at(place), { recursive: true });
    Deno.writeTextFileSync(folder.at(`${place}/package.json`), '{"name":"webgpu","main":"index.js"}');
    Deno.writeTextFileSync(folder.at(`${place}/index.js`), index);
  }
  Deno.writeTextFileSync(
    folder.at("main.ts"),
    `import { requestAdapter } from "./lib/tensor/engine.ts";
    await requestAdapter({ engine: "dawn" }).catch(({ name, message }) => console.log(name + ": " + message));`,
  );
  return folder.at("main.ts");
}

for (
  const [problem, index, flags, message] of [
    ["its package", undefined, ["--allow-ffi"], /the package webgpu .*; run sh setup\.sh --dawn/],
    ["the permission", "module.exports = {}", [], /permission .*; start Deno with --allow-ffi/],
    [
      "a library that the system can load",
      'throw new Error("GLIBC_2.99 not found\\nrequired by dawn.node")',
      ["--allow-ffi"],
      /\(GLIBC_2\.99 not found\); use --engine deno/,
    ],
  ] as const
) {
  Deno.test(`Dawn without ${problem} is refused with a one-line error and a remedy`, async () => {
    using folder = new TemporaryFolder();
    const main = makeCheckout(folder, index);
    const { code, stdout, stderr } = await runDeno([
      "--no-config",
      "--no-check",
      "--allow-read",
      ...flags,
      main,
    ]);
    assertEquals(code, 0, stderr);
    assertMatch(stdout, /^UserError: Cannot use the engine dawn: [^\n]+\n$/);
    assertMatch(stdout, message);
  });
}

Deno.test("only stages that can use Dawn may load its library", async () => {
  const lib = (path: string) => JSON.stringify(new URL(path, ENGINE).href);
  const script = `
    import { permissionsOf } from ${lib("../cli/stage_permissions.ts")};
    import { chooseCommand } from ${lib("../cli/command.ts")};
    import { STAGES } from ${lib("../../tasks/stages.ts")};
    for (const line of ["train", "score", "score --engine deno", "import", "watch"]) {
      const { command, rest } = chooseCommand(STAGES, line.split(" "));
      console.log(line + ":", String(permissionsOf(command, rest).ffi));
    }`;
  const dawn = new URL("./dawn", ENGINE).href;
  for (const isGranted of [true, false]) {
    const flags = isGranted ? [`--allow-ffi=${fromFileUrl(dawn)}`] : [];
    const config = ["--config", fromFileUrl(new URL("../../deno.json", ENGINE))];
    const program = `data:application/typescript,${encodeURIComponent(script)}`;
    const { stdout, stderr } = await runDeno([...config, "--no-check", "--allow-read", ...flags, program]);
    const loads = isGranted ? dawn : false;
    assertEquals(stdout.trim().split("\n"), [
      `train: ${loads}`,
      `score: ${loads}`,
      "score --engine deno: false",
      "import: false",
      "watch: false",
    ], stderr);
  }
});
