import { assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { problemOf } from "../../../lib/serve/api/api_error.ts";
import { type BatchOptions, LongWork, RttBatcher, SizeGate } from "../../../lib/serve/api/queues.ts";
import { UserError } from "../../../lib/base/errors.ts";
import type { PingModel } from "../../../lib/query/ping_model.ts";
import type { RttQuery } from "../../../lib/query/query_tokens.ts";
import { type RttDistribution, RTTS_MS } from "../../../lib/query/rtt/rtt_distribution.ts";
import { parseAddressQuestion } from "../../../lib/query/rtt/rtt_question.ts";
import { withTinyModel } from "../../query/tiny_model.ts";
import { SimulatedTime } from "../../simulated_time.ts";
import { until } from "../../until.ts";

function queryOf(number: number): RttQuery {
  return parseAddressQuestion({
    src: "192.0.2.1",
    dst: `198.51.100.${number}`,
    time: 1_700_000_000 + number,
  });
}

const keep = (distribution: RttDistribution) => distribution.copy();

/** Runs a test on a batcher whose batches are released one by one. */
async function withGate(
  test: (gated: { batcher: RttBatcher; sizes: number[]; open: () => void }) => Promise<void>,
  options: BatchOptions = {},
): Promise<void> {
  await withTinyModel(async (model) => {
    const gates: (() => void)[] = [];
    const sizes: number[] = [];
    const gated = {
      config: model.config,
      async likelyRttDistributions(...asked: Parameters<PingModel["likelyRttDistributions"]>) {
        await new Promise<void>((resolve) => gates.push(resolve));
        await model.likelyRttDistributions(...asked);
      },
    };
    const batcher = new RttBatcher(gated, { onBatch: (size) => sizes.push(size), ...options });
    await test({ batcher, sizes, open: () => gates.shift()?.() });
  }, 3);
}

async function started(sizes: readonly number[], number: number): Promise<void> {
  await until(`batch ${number}`, () => sizes.length >= number);
}

Deno.test("RttBatcher merges simultaneous questions, with the same answers as one by one", () =>
  withTinyModel(async (model) => {
    const sizes: number[] = [];
    const batcher = new RttBatcher(model, { onBatch: (size) => sizes.push(size) });
    const queries = Array.from({ length: 20 }, (_, i) => queryOf(i));
    const together = await Promise.all(queries.map((query) => batcher.ask(query, keep)));
    assertEquals(sizes, [20]);
    for (const [i, query] of queries.entries()) {
      const alone = await model.rttDistribution(query);
      // Rounding depends on the group. Log-probabilities are about -10 in float32, so each is accurate to
      // 1e-5.
      assertAlmostEquals(together[i].pFailed / alone.pFailed, 1, 1e-5);
      for (const [code, rttMs] of RTTS_MS.entries()) {
        assertAlmostEquals(together[i].cdf(rttMs), alone.cdf(rttMs), 1e-6);
        assertAlmostEquals(together[i].probabilities[code] / alone.probabilities[code], 1, 1e-5);
      }
    }
  }, 3));

Deno.test("RttBatcher collects the next batches while one runs, each of at most maxBatch", () =>
  withGate(async ({ batcher, sizes, open }) => {
    const asked = [batcher.ask(queryOf(0), keep)];
    await started(sizes, 1);
    for (let i = 1; i <= 7; i++) asked.push(batcher.ask(queryOf(i), keep));
    assertEquals(batcher.queueLength, 7);
    open();
    await asked[0];
    await started(sizes, 2);
    open();
    await started(sizes, 3);
    open();
    await Promise.all(asked);
    assertEquals(sizes, [1, 4, 3]);
  }, { maxBatch: 4 }));

Deno.test("RttBatcher waits up to maxWaitMs for as many questions as in the last batch", () =>
  withGate(async ({ batcher, sizes, open }) => {
    const both = [0, 1].map((number) => batcher.ask(queryOf(number), keep));
    await started(sizes, 1);
    open();
    await Promise.all(both);
    using time = new SimulatedTime();
    const alone = batcher.ask(queryOf(2), keep);
    await time.passWait(600);
    await started(sizes, 2);
    open();
    await alone;
    assertEquals(sizes, [2, 1]);
  }, { maxWaitMs: 600 }));

// Here maxWaitMs is longer than `started` takes.
Deno.test("RttBatcher does not wait after a batch of one, or once as many have come as last time", () =>
  withGate(async ({ batcher, sizes, open }) => {
    for (const number of [1, 2]) {
      const alone = batcher.ask(queryOf(0), keep);
      await started(sizes, number);
      open();
      await alone;
    }
    for (const number of [3, 4]) {
      const first = batcher.ask(queryOf(0), keep);
      // Enough turns of the event loop to start a batch that waits for nobody.
      if (number === 4) {
        for (let turn = 0; turn < 5; turn++) await new Promise((next) => setTimeout(next, 0));
      }
      const second = batcher.ask(queryOf(1), keep);
      await started(sizes, number);
      open();
      await Promise.all([first, second]);
    }
    assertEquals(sizes, [1, 1, 2, 2]);
  }, { maxWaitMs: 1e9 }));

Deno.test("RttBatcher rejects a caller beyond its queue, and accepts one when there is room again", () =>
  withGate(async ({ batcher, sizes, open }) => {
    const lane = {};
    const asked = [batcher.ask(queryOf(0), keep)];
    await started(sizes, 1);
    asked.push(...[1, 2, 3].map((number) => batcher.ask(queryOf(number), keep, { lane })));
    asked.push(batcher.ask(queryOf(4), keep));
    const refused = await assertRejects(() => batcher.ask(queryOf(5), keep));
    assertEquals(problemOf(refused), {
      type: "about:blank",
      title: "Too Many Requests",
      status: 429,
      detail: "Cannot answer: 2 requests are already waiting; ask again in a second",
    });
    // A caller that already waits may ask more.
    asked.push(batcher.ask(queryOf(6), keep, { lane }));
    assertEquals(batcher.queueLength, 5);
    open();
    await started(sizes, 2);
    asked.push(batcher.ask(queryOf(5), keep));
    open();
    await started(sizes, 3);
    open();
    assertEquals((await Promise.all(asked)).length, 7);
    assertEquals(sizes, [1, 5, 1]);
  }, { maxQueue: 2 }));

Deno.test("an aborted question leaves the queue, or ends alone in a running batch", () =>
  withGate(async ({ batcher, sizes, open }) => {
    const controllers = [0, 1, 2].map(() => new AbortController());
    const asked = controllers.slice(0, 2).map(({ signal }, i) => batcher.ask(queryOf(i), keep, { signal }));
    await started(sizes, 1);
    const waiting = batcher.ask(queryOf(2), keep, { signal: controllers[2].signal });
    const other = batcher.ask(queryOf(3), keep);
    controllers[2].abort();
    await assertRejects(() => waiting, DOMException);
    assertEquals(batcher.queueLength, 1);
    controllers[0].abort(new UserError("gone"));
    await assertRejects(() => asked[0], UserError, "gone");
    open();
    await asked[1];
    await started(sizes, 2);
    open();
    await other;
    assertEquals(sizes, [2, 1]);
    await assertRejects(() => batcher.ask(queryOf(1), keep, { signal: AbortSignal.abort() }), DOMException);
  }));

Deno.test("a faulty question fails alone, and a GPU error fails only its batch", () =>
  withTinyModel(async (model) => {
    let isBroken = false;
    const fragile = {
      config: model.config,
      async likelyRttDistributions(...asked: Parameters<PingModel["likelyRttDistributions"]>) {
        if (isBroken) throw new UserError("the GPU is gone");
        await model.likelyRttDistributions(...asked);
      },
    };
    const batcher = new RttBatcher(fragile);
    const wrong = { ...queryOf(1), source: new Uint8Array(16) };
    const outcomes = await Promise.allSettled([
      batcher.ask(queryOf(0), keep),
      batcher.ask(wrong, keep),
      batcher.ask(queryOf(2), () => {
        throw new RangeError("unusable");
      }),
      batcher.ask(queryOf(3), keep),
    ]);
    const reasonOf = (outcome: PromiseSettledResult<unknown>) =>
      outcome.status === "rejected" ? String(outcome.reason) : "";
    assertEquals(outcomes.map(reasonOf), [
      "",
      "UserError: Cannot ask for an RTT from IPv6 to IPv4: expected two addresses of the same version",
      "RangeError: unusable",
      "",
    ]);
    isBroken = true;
    const broken = await assertRejects(() => batcher.ask(queryOf(0), keep), Error, "the GPU is gone");
    assertEquals(problemOf(broken).status, 500);
    isBroken = false;
    await batcher.ask(queryOf(0), keep);
  }, 3));

Deno.test("LongWork runs one piece at a time, with callers in turn, even after a failure", async () => {
  const work = new LongWork();
  const events: string[] = [];
  let numRunning = 0;
  const piece = (name: string) => async () => {
    assertEquals(++numRunning, 1);
    await new Promise((resolve) => setTimeout(resolve, 0));
    numRunning--;
    events.push(name);
    if (name === "a1") throw new Error("a1 failed");
  };
  const [a, b] = [{}, {}];
  const all = [
    ...["a1", "a2", "a3"].map((name) => work.run(piece(name), { lane: a })),
    work.run(piece("b1"), { lane: b }),
    work.run(piece("c"), {}),
  ];
  const aborted = new AbortController();
  const gone = work.run(piece("gone"), { signal: aborted.signal });
  assertEquals(work.queueLength, 5);
  aborted.abort();
  const outcomes = await Promise.allSettled([...all, gone]);
  assertEquals(outcomes.map(({ status }) => status === "fulfilled"), [false, true, true, true, true, false]);
  assertEquals(events, ["a1", "a2", "b1", "c", "a3"]);
  assertEquals(work.queueLength, 0);
  await work.run(piece("late"), {});
});

Deno.test("LongWork prefers cheap work, and clients share by cost however often they ask", async () => {
  const work = new LongWork();
  const done: string[] = [];
  const run = (name: string, client: string, cost: number, lane = {}) =>
    work.run(async () => void done.push(await Promise.resolve(name)), { client, lane }, cost);
  const [few, many] = [{}, {}];
  await Promise.all([
    ...[1, 2, 3, 4].map((number) => run(`a${number}`, "a", 4096)),
    run("cheap", "a", 64),
    run("b", "b", 4096),
    ...[1, 2, 3].map((number) => run(`line ${number}`, "c", 2000, few)),
    ...[1, 2, 3].map((number) => run(`of two ${number}`, "d", 2000, number === 2 ? {} : many)),
  ]);
  // Costs times waiting callers of the client: a2 4096, a3 8192, a4 12288, cheap 4 * 64, b 4096.
  assertEquals(done, [
    ...["a1", "cheap", "line 1", "of two 1", "line 2", "of two 2", "a2", "b"],
    ...["line 3", "of two 3", "a3", "a4"],
  ]);
});

Deno.test("SizeGate admits large questions as room allows, small ones at once, and none after its signal", async () => {
  const gate = new SizeGate();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (name: string, bytes: number, signal?: AbortSignal) => {
    const work = () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    };
    return gate.run(bytes, work, signal);
  };
  const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
  const left = new AbortController();
  const first = ask("longer than all that fit", 2 ** 28);
  const second = ask("2 MiB", 2 ** 21);
  const third = ask("4 MiB", 2 ** 22, left.signal);
  const fourth = ask("1 MiB", 2 ** 20);
  const fifth = ask("1 KiB", 1024);
  await turn();
  assertEquals(begun.splice(0), ["longer than all that fit", "1 KiB"]);
  ends.get("longer than all that fit")?.();
  await turn();
  assertEquals(begun.splice(0), ["2 MiB"]);
  left.abort(new UserError("too late"));
  await assertRejects(() => third, UserError, "too late");
  assertEquals(begun.splice(0), ["1 MiB"]);
  await assertRejects(() => ask("later", 2 ** 20, left.signal), UserError, "too late");
  await assertRejects(
    () => gate.run(2 ** 20, () => Promise.reject(new UserError("wrong"))),
    UserError,
    "wrong",
  );
  for (const end of ends.values()) end();
  await Promise.all([first, second, fourth, fifth]);
  const last = ask("all that fit", 2 ** 22);
  await turn();
  assertEquals(begun.splice(0), ["all that fit"]);
  ends.get("all that fit")?.();
  await last;
});
