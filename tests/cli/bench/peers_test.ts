import { assert, assertRejects } from "@std/assert";
import { fromFileUrl } from "@std/path";
import {
  comparableConfig,
  compareTraining,
  type Peer,
  type PeerName,
  PeerProcess,
} from "../../../lib/cli/bench/peers.ts";
import { UserError } from "../../../lib/base/errors.ts";
import { Gpu } from "../../../lib/tensor/device.ts";
import { KernelRegistry } from "../../../lib/tensor/registry.ts";
import { parseRunConfig, type RunConfig } from "../../../lib/train/run_config.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

const ADAMW = { kind: "adamw", learningRate: 0.01 };

function tinyRun(model: Record<string, unknown> = {}, matrices: unknown = ADAMW): RunConfig {
  return parseRunConfig({
    model: { numLayers: 1, width: 20, numHeads: 2, headDim: 32, mlpWidth: 44, sequenceLength: 64, ...model },
    data: {},
    optim: { groups: { embedding: ADAMW, head: ADAMW, matrices } },
    train: { steps: 20, batchSize: 2, microBatchSize: 2 },
  });
}

/** Starts a peer, jax-js only if it is cached: tests fetch nothing. */
async function startedPeer(name: PeerName): Promise<PeerProcess | undefined> {
  try {
    return await PeerProcess.start(name, { cachedOnly: true });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.log(`skipped: ${error.message}`);
    return undefined;
  }
}

for (const [name, dtype] of [["jax-js", "f32"], ["PyTorch f32", "f32"], ["PyTorch bf16", "f16"]] as const) {
  const started = await startedPeer(name);
  Deno.test(`compareTraining() confirms that ${name} matches ${dtype}, and times both`, {
    ignore: !started,
  }, async () => {
    using peer = started;
    assert(peer);
    using gpu = await Gpu.open({ engine: "deno" });
    const registry = new KernelRegistry(gpu);
    const muon = { kind: "muon", learningRate: 0.02 };
    const others = { activation: "silu", softcap: null, qkNorm: false, vocabulary: "v1" };
    for (const run of [tinyRun({}, muon), tinyRun(others)]) {
      const config = comparableConfig(run, dtype);
      const compared = await compareTraining(registry, peer, { config, seconds: 0.1 });
      const { numSteps, lossDifference } = compared;
      const allowed = { f32: 1e-5, f16: 1e-2 }[dtype];
      assert(lossDifference < allowed, `the losses differ by ${lossDifference}`);
      assert(dtype === "f32" || lossDifference > 1e-5, `bf16 gives ${lossDifference}, as f32 does`);
      assert(numSteps >= 1);
      for (const key of ["median", "peerMedian", "perCore", "peerPerCore"] as const) {
        assert(compared[key] > 0 && compared[key] < Infinity, `${key} is ${compared[key]}`);
      }
    }
  });
}

Deno.test("compareTraining() rejects a peer whose losses differ or are missing", async () => {
  using gpu = await Gpu.open();
  const registry = new KernelRegistry(gpu);
  for (const loss of [{ loss: 1 }, {}]) {
    const peer: Peer = {
      name: "jax-js",
      device: "",
      ask: () => Promise.resolve({ seconds: 1, cpuSeconds: 1, ...loss }),
    };
    const compare = () => compareTraining(registry, peer, { config: tinyRun(), seconds: 0.1 });
    await assertRejects(compare, UserError, "it does different work");
  }
});

Deno.test("PeerProcess.start() reports why a peer is unavailable", () =>
  withFolder(async (folder) => {
    const start = (name: PeerName, variable: string) =>
      PeerProcess.start(name, { cachedOnly: true, env: { [variable]: folder } });
    await assertRejects(() => start("jax-js", "DENO_DIR"), UserError, "@jax-js/jax");
    const message = "Cannot compare with PyTorch f32: python3 was not found";
    await assertRejects(() => start("PyTorch f32", "PATH"), UserError, message);
  }));

Deno.test("only the bench's child process depends on jax-js", async () => {
  const root = new URL("../../../", import.meta.url);
  for (const name of ["deno.json", "deno.lock", "setup.sh"]) {
    assert(!Deno.readTextFileSync(new URL(name, root)).includes("jax"), name);
  }
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", fromFileUrl(new URL("tasks/bench.ts", root))],
  }).output();
  const graph = new TextDecoder().decode(stdout);
  assert(
    graph.includes("lib/cli/bench/peers.ts") && !graph.includes("@jax-js"),
    "the graph of tasks/bench.ts",
  );
});
