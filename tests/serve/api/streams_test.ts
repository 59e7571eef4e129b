import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import * as z from "zod";
import { FairQueue, LongWork } from "../../../lib/serve/api/queues.ts";
import { snakeKeys, snakeShape } from "../../../lib/serve/api/snake_case.ts";
import { streamOf } from "./tiny_service.ts";
import { inOrder } from "../../../lib/serve/api/lines.ts";

Deno.test("FairQueue takes one of each lane in turn, and each lane in its order", () => {
  const queue = new FairQueue<string>();
  const [a, b, c] = [{}, {}, {}];
  for (const item of ["a1", "a2", "a3", "a4"]) queue.push(item, a);
  queue.push("b1", b);
  for (const item of ["c1", "c2", "c3"]) queue.push(item, c);
  queue.remove("c2", c);
  queue.remove("c2", c);
  queue.remove("b1", a);
  assertEquals([queue.length, queue.numLanes], [7, 3]);
  const taken = [queue.take(), queue.take()];
  queue.push("b2", b);
  taken.push(...Array.from({ length: 7 }, () => queue.take()));
  assertEquals(taken, ["a1", "b1", "c1", "a2", "b2", "c3", "a3", "a4", undefined]);
  queue.push("b3", b);
  queue.remove("b3", b);
  assertEquals([queue.length, queue.numLanes, queue.take()], [0, 0, undefined]);
});

Deno.test("FairQueue gives each item once, lanes in order, whatever is asked of it", () => {
  const action = fc.oneof(
    fc.record({ push: fc.nat(3) }),
    fc.record({ remove: fc.nat(40) }),
    fc.constant({ take: true } as const),
  );
  fc.assert(fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
    const queue = new FairQueue<number>();
    const lanes = [{}, {}, {}, {}];
    const waiting = new Map<number, number>();
    let next = 0;
    for (const each of actions) {
      if ("push" in each) {
        waiting.set(next, each.push);
        queue.push(next++, lanes[each.push]);
      } else if ("remove" in each) {
        queue.remove(each.remove, lanes[waiting.get(each.remove) ?? 0]);
        waiting.delete(each.remove);
      } else {
        const taken = queue.take();
        if (taken === undefined) assertEquals(waiting.size, 0);
        else {
          const lane = waiting.get(taken);
          const first = [...waiting].find(([, other]) => other === lane);
          assertEquals(first, [taken, lane]);
          waiting.delete(taken);
        }
      }
      assertEquals([queue.length, queue.numLanes], [waiting.size, new Set(waiting.values()).size]);
    }
  }));
});

/** A promise that settles after some turns of the event loop. */
async function after<T>(numTurns: number, value: T): Promise<T> {
  for (let i = 0; i < numTurns; i++) await new Promise((resolve) => setTimeout(resolve, 0));
  return value;
}

Deno.test("inOrder() gives results in order, with at most so many items taken in before them", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(3), { maxLength: 12 }),
      fc.integer({ min: 1, max: 5 }),
      async (turns, most) => {
        let numPulled = 0;
        let numRunning = 0;
        let mostRunning = 0;
        const work = async (number: number) => {
          mostRunning = Math.max(mostRunning, ++numRunning);
          const value = await after(turns[number], number);
          numRunning--;
          return value;
        };
        const results: number[] = [];
        for await (const each of inOrder(streamOf(turns.keys(), () => numPulled++), work, most)) {
          results.push(each);
          assert(numPulled - results.length <= most);
        }
        assertEquals(results, [...turns.keys()]);
        assert(mostRunning <= most);
      },
    ),
    { numRuns: 30 },
  ));

Deno.test("inOrder() gives results while the next item does not come", async () => {
  const stalled = async function* () {
    yield 1;
    yield 2;
    await new Promise(() => {});
  };
  const results = inOrder(stalled(), (item) => Promise.resolve(item), 10);
  assertEquals([(await results.next()).value, (await results.next()).value], [1, 2]);
  // It ends without the item that never comes.
  const third = results.next();
  void results.return(undefined);
  const ended = await Promise.race([third, after(20, "still waiting")]);
  assertEquals(ended, "still waiting");
});

Deno.test("inOrder() ends its source when its taker or an item ends it", async () => {
  const ends: string[] = [];
  const source = async function* (name: string) {
    try {
      for (let i = 0;; i++) yield await Promise.resolve(i);
    } finally {
      ends.push(name);
    }
  };
  for await (const _ of inOrder(source("taker"), (item) => Promise.resolve(item), 3)) break;
  const failing = inOrder(
    source("item"),
    (item) => item === 4 ? Promise.reject(new Error("four")) : after(1, item),
    3,
  );
  await assertRejects(() => Array.fromAsync(failing), Error, "four");
  await after(3, 0);
  assertEquals(ends, ["taker", "item"]);
});

Deno.test("LongWork does one piece at a time, callers in turn, also after one that fails", async () => {
  const work = new LongWork();
  const events: string[] = [];
  let numRunning = 0;
  const piece = (name: string) => async () => {
    assertEquals(++numRunning, 1);
    await after(2, 0);
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

Deno.test("snakeKeys() renames the keys of everything, and changes no value", () => {
  const value = {
    pFailed: 0.1,
    meanBelowQ999Ms: 2,
    quantilesMs: { "0.5": 3 },
    at: [{ rttMs: 1, highMs: null, isProven: true }],
    order: "sourceTime",
  };
  assertEquals(snakeKeys(value), {
    p_failed: 0.1,
    mean_below_q999_ms: 2,
    quantiles_ms: { "0.5": 3 },
    at: [{ rtt_ms: 1, high_ms: null, is_proven: true }],
    order: "sourceTime",
  });
});

Deno.test("snakeShape() has the fields of snakeKeys(), with their types, bounds and descriptions", () => {
  const schema = z.object({
    pFailed: z.number().max(1).describe("P(no reply)"),
    atMs: z.array(z.object({ highMs: z.number().nullable() })).optional().describe("asked for"),
    quantilesMs: z.record(z.string(), z.number()),
  });
  const renamed = z.strictObject(snakeShape(schema));
  const value = { pFailed: 0.1, atMs: [{ highMs: null }], quantilesMs: { "0.5": 3 } };
  const found: z.infer<typeof renamed> = {
    p_failed: 0.1,
    at_ms: [{ high_ms: null }],
    quantiles_ms: { "0.5": 3 },
  };
  assertEquals(renamed.parse(snakeKeys(value)), found);
  assert(renamed.safeParse({ p_failed: 1, quantiles_ms: {} }).success);
  assert(!renamed.safeParse({ ...found, p_failed: 2 }).success);
  const { properties, required } = z.toJSONSchema(renamed);
  assertEquals(required, ["p_failed", "quantiles_ms"]);
  assertEquals(Object.values(properties ?? {}).map((each) => typeof each === "object" && each.description), [
    ...["P(no reply)", "asked for"],
    undefined,
  ]);
});
