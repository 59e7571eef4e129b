import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { addressBytes, formatAddress } from "../../../lib/data/addresses/ip.ts";
import type { DesignNode } from "../../../lib/model/coordinates/design.ts";
import {
  type AdviceOptions,
  adviseOn,
  proposalsFor,
  varianceLeft,
} from "../../../lib/query/destinations/advise.ts";
import { PingModel } from "../../../lib/query/ping_model.ts";
import type { FileQuery } from "../../../lib/query/rtt/query_file.ts";
import { parseQuestion } from "../../../lib/query/rtt/rtt_question.ts";
import { Gpu } from "../../../lib/tensor/device.ts";
import { KernelRegistry } from "../../../lib/tensor/registry.ts";
import { refused, runStageProcess, succeed, succeeded } from "../../cli/process.ts";
import { withRowCheckpoint } from "../adapt/row_checkpoint.ts";
import {
  KNOWN,
  knownData,
  measured,
  NEW_ADDRESS,
  tinyLocatedModel,
  tinyRowModel,
} from "../adapt/tiny_rows.ts";

const OPTIONS: AdviceOptions = { budget: 9, context: [], numDraws: 4, seed: 0 };

function pair(src: string, dst: string, line = 1): FileQuery {
  return { line, src, dst, ...parseQuestion({ src, dst }) };
}

async function withModel(test: (model: PingModel) => Promise<void>, of = tinyLocatedModel()): Promise<void> {
  using gpu = await Gpu.open();
  await test(
    PingModel.of(of.config, new KernelRegistry(gpu), { weights: of.weights, trainingData: knownData() }),
  );
}

Deno.test("adviseOn() chooses each pair once, and each reduces the spread left by the previous one", () =>
  withModel(async (model) => {
    const candidates = [...KNOWN, ...KNOWN].map((dst) => pair(NEW_ADDRESS, dst));
    candidates.push(pair(KNOWN[0], NEW_ADDRESS));
    const advice = await adviseOn(model, { candidates }, OPTIONS);
    assertEquals(advice.map(({ src }) => src).filter((src) => src !== NEW_ADDRESS && src !== KNOWN[0]), []);
    const others = advice.map(({ src, dst }) => src === NEW_ADDRESS ? dst : src);
    assertEquals(others.toSorted(), KNOWN.toSorted());
    advice.forEach(({ spread_before_ms, spread_after_ms, reduction_ms }, i) => {
      assertAlmostEquals(spread_before_ms - spread_after_ms, reduction_ms, 1e-9);
      assertEquals(spread_before_ms, i === 0 ? advice[0].spread_before_ms : advice[i - 1].spread_after_ms);
      assert(reduction_ms > 0, `${reduction_ms}`);
    });
    assertEquals(await adviseOn(model, { candidates }, { ...OPTIONS, budget: 2 }), advice.slice(0, 2));
    assertEquals(
      await adviseOn(model, { candidates: candidates.toReversed() }, OPTIONS).then((all) => all.length),
      4,
    );
  }));

Deno.test("adviseOn() takes the source's measurements and the targets into account", () =>
  withModel(async (model) => {
    const candidates = KNOWN.map((dst) => pair(NEW_ADDRESS, dst));
    const targets = [pair(NEW_ADDRESS, KNOWN[3])];
    const advise = async (context: AdviceOptions["context"]) =>
      (await adviseOn(model, { candidates, targets }, { ...OPTIONS, budget: 1, context }))[0];
    const alone = await advise([]);
    assertEquals(alone.dst, KNOWN[3]);
    const share = ({ spread_before_ms, spread_after_ms }: typeof alone) => spread_after_ms / spread_before_ms;
    const again = await advise([measured(NEW_ADDRESS, KNOWN[3], 30)]);
    assert(share(again) > share(alone), `${share(again)} ${share(alone)}`);
    // A measurement without a reply changes only the model's own variance.
    const failed = share(await advise([measured(NEW_ADDRESS, KNOWN[3], null)]));
    assert(failed < (share(alone) + share(again)) / 2, `${failed} ${share(alone)} ${share(again)}`);
  }));

Deno.test("varianceLeft() adds the precision of the measurements to the model's variance", () => {
  const node = (variance: number): DesignNode => ({
    features: Float64Array.of(1),
    covariance: Float64Array.of(variance),
    wanted: new Float64Array(1),
    error: 1 / 1.4826,
  });
  // The variance of the errors is 1; that of the node falls from 4 to 1.
  const left = (variance: number) => varianceLeft({ nodes: [node(1), node(0)], variance }, 5);
  assertAlmostEquals(left(5), 2 / 5, 1e-12);
  assertAlmostEquals(left(1.5), (1 / (1 / 0.5 + 1 - 1 / 4) + 1) / 1.5, 1e-12);
  assertAlmostEquals(left(1e9), 1 / (1 - 1 / 4) / 1e9 + 1e-9, 1e-15);
  assertEquals([left(1), left(0.1)], [1, 1]);
  assertEquals(varianceLeft({ nodes: [node(0), node(0)], variance: 5 }, 1), 1);
});

Deno.test("proposalsFor() proposes pairs with known addresses that are not measured yet, in the address's direction", () =>
  withModel(async (model) => {
    const address = addressBytes(NEW_ADDRESS);
    const textOf = ({ source, destination }: Record<"source" | "destination", Uint8Array>) =>
      `${formatAddress(source)} ${formatAddress(destination)}`;
    const before = proposalsFor(model, address, 2);
    assertEquals([before.numMeasured, before.proposed.length], [0, 2]);
    assert(before.proposed.every((pair) => textOf(pair).endsWith(` ${NEW_ADDRESS}`)));
    const [best] = before.proposed.map(({ source }) => formatAddress(source));
    await model.adapt([measured(NEW_ADDRESS, best, 25)], { steps: 1 });
    const after = proposalsFor(model, address, 9);
    const left = KNOWN.filter((known) => known !== best).map((known) => `${NEW_ADDRESS} ${known}`);
    assertEquals([after.numMeasured, after.proposed.map(textOf).sort()], [1, left.sort()]);
  }));

Deno.test("adviseOn() rejects a model without coordinates", () =>
  withModel(async (model) => {
    const candidates = [pair(NEW_ADDRESS, KNOWN[0])];
    const error = await assertRejects(() => adviseOn(model, { candidates }, OPTIONS), UserError);
    assertStringIncludes(error.message, "the model has no coordinates");
  }, tinyRowModel()));

Deno.test("query advise reads the candidates of a source, or pairs, and writes its advice", () =>
  withRowCheckpoint(async (at) => {
    const write = (name: string, ...lines: string[]) => {
      Deno.writeTextFileSync(at(name), lines.join("\n"));
      return at(name);
    };
    const anchors = write("anchors.txt", ...KNOWN);
    const many = write("many.txt", ...Array(100_001).fill(NEW_ADDRESS));
    const names = write("names.csv", `${NEW_ADDRESS},probe`);
    const ask = (...args: string[]) =>
      runStageProcess([
        ...["query", "advise", "--checkpoint", at("run"), "--budget", "3", "--names", names],
        ...args,
      ]);
    const adviceOf = async (...args: string[]) =>
      JSON.parse((await succeeded(ask("--json", ...args))).stdout).advice;
    const output = at("advice.jsonl");
    const advice = await adviceOf("--src", NEW_ADDRESS, "--candidates", anchors, "--output", output);
    const lines = Deno.readTextFileSync(output).trimEnd().split("\n").map((line) => JSON.parse(line));
    assertEquals([lines, lines.length, lines[0].src_name], [advice, 3, "probe"]);
    assertEquals(advice.map(({ basis }: { basis: string }) => basis), ["guess", "guess", "guess"]);
    const pairs = write("pairs.csv", "src,dst", ...KNOWN.map((dst) => `${NEW_ADDRESS},${dst}`));
    assertEquals(await adviceOf("--candidates", pairs), advice);
    const unmeasured: { src: string; dst: string }[] = await adviceOf("--src", NEW_ADDRESS);
    assertEquals(new Set(unmeasured.map(({ src }) => src)).size, 3);
    assert(unmeasured.every(({ src, dst }) => KNOWN.includes(src) && dst === NEW_ADDRESS));
    const more = write(
      "more.csv",
      "dst,src",
      ...KNOWN.flatMap((dst) => [NEW_ADDRESS, "192.0.2.78"].map((src) => `${dst},${src}`)),
    );
    const both = await adviceOf("--candidates", more, "--targets", more);
    assertEquals(new Set(both.map(({ src }: { src: string }) => src)), new Set([NEW_ADDRESS, "192.0.2.78"]));
    const { stdout } = await ask("--src", NEW_ADDRESS, "--candidates", anchors);
    assertEquals(stdout.trimEnd().split("\n").length, 4);
    assertMatch(stdout, /^192\.0\.2\.77 \(probe\) /m);
    for (
      const [args, code, message] of [
        [["--src", "10.0.0.0/40", "--candidates", anchors], 2, "Cannot use --src 10.0.0.0/40"],
        [["--candidates", anchors], 1, `Cannot read ${anchors}: line 1: found no src, expected an IPv4`],
        [["--src", NEW_ADDRESS, "--candidates", write("none.txt", "")], 1, "it contains no candidates"],
        [["--src", KNOWN[0]], 1, "candidates: found none, and src is not an address with known ones left"],
        [
          ["--src", NEW_ADDRESS, "--candidates", many],
          1,
          `Cannot read ${many}: found an array, expected at most`,
        ],
      ] as const
    ) {
      await refused(ask(...args), code, message);
    }
  }, tinyLocatedModel()));

Deno.test("the example of the README runs as written", () =>
  withRowCheckpoint(async (at) => {
    const readme = Deno.readTextFileSync(new URL("../../../lib/query/adapt/README.md", import.meta.url));
    const [, words] = /^deno task (query advise .*)$/m.exec(readme) ?? [];
    const files = { "runs/first": at("run"), "anchors.txt": at("anchors"), "servers.txt": at("servers") };
    for (const name of ["anchors", "servers"]) Deno.writeTextFileSync(at(name), KNOWN.join("\n"));
    const args = words.split(" ").map((word) => files[word as keyof typeof files] ?? word);
    const { stdout } = await succeed(...args);
    const [head, ...lines] = stdout.trimEnd().split("\n");
    assertEquals(head.split(/ +/), ["src", "dst", "basis", "median", "reduction", "spread"]);
    assertEquals(lines.length, 3);
    for (const line of lines) {
      assertMatch(line, /^192\.0\.2\.77 +\S+ +\w+( +[\d.]+ (ms|s|min|h)){2} +[\d.]+ \w+ -> [\d.]+ \w+$/);
    }
  }, tinyLocatedModel()));
