import { assert, assertEquals, assertRejects } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { WorkerPool } from "../../../lib/io/threads/worker_pool.ts";

const LIB = new URL("../../../lib/", import.meta.url).href;

/** A worker's module; `open` is the code of the argument of serveJobs(). */
function moduleOf(open: string, before = ""): URL {
  const code = `import { serveJobs } from "${LIB}io/threads/worker_pool.ts";
    import { FormatError } from "${LIB}base/errors.ts";
    ${before}
    serveJobs(${open});`;
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}

function poolOf<Result>(
  module: URL,
  { numWorkers = 1, setup, signal }: { numWorkers?: number; setup?: unknown; signal?: AbortSignal } = {},
): WorkerPool<number, Result, string> {
  return new WorkerPool(setup, { name: "test", module, numWorkers, signal });
}

for (const numWorkers of [1, 2, 3]) {
  Deno.test({
    name: `inOrder() yields the results in job order with ${numWorkers} workers`,
    sanitizeOps: true,
    sanitizeResources: true,
    async fn() {
      // With several workers, half of the jobs end after their successor.
      const module = moduleOf(
        `({ factor, done, numWorkers }) => async (n) => {
          if (numWorkers > 1 && n % 2 === 0) await Atomics.waitAsync(done, n + 1, 0).value;
          Atomics.store(done, n, 1);
          Atomics.notify(done, n);
          return Uint8Array.of(n * factor);
        }, ({ buffer }) => [buffer]`,
      );
      const done = new Int32Array(new SharedArrayBuffer(4 * 8));
      using pool = poolOf<Uint8Array>(module, { numWorkers, setup: { factor: 3, done, numWorkers } });
      const results = await Array.fromAsync(pool.inOrder([0, 1, 2, 3, 4, 5, 6, 7]));
      assertEquals(results.map(([value]) => value), [0, 3, 6, 9, 12, 15, 18, 21]);
    },
  });
}

Deno.test("inOrder() requests two jobs ahead for each worker and no more", async () => {
  using pool = poolOf<number>(moduleOf(`() => (n) => n`), { numWorkers: 3 });
  let numAsked = 0;
  function* jobs() {
    for (;;) yield numAsked++;
  }
  const results = pool.inOrder(jobs());
  assertEquals(numAsked, 6);
  // Each taken result makes room for one job; results that have arrived but were not taken do not.
  for (let i = 0; i < 40; i++) {
    assertEquals((await results.next()).value, i);
    assertEquals(numAsked, 7 + i);
  }
});

Deno.test("ask() throws a user's mistake as a UserError, and anything else with the worker's name and a stack", async () => {
  const module = moduleOf(`() => (n) => {
    if (n === 0) throw new FormatError("it is damaged", { path: "a.parquet" });
    if (n === 1) throw new TypeError("a bug of ours");
    return n;
  }`);
  using pool = poolOf<number>(module, { numWorkers: 2 });
  const mistake = await assertRejects(() => pool.ask(0, 0), UserError);
  assertEquals(mistake.message, "Cannot read a.parquet: it is damaged");
  const bug = await assertRejects(() => pool.ask(1, 1), Error, "test worker 2 of 2 failed: TypeError: a bug");
  assert(!(bug instanceof UserError) && bug.message.includes("\n    at "), bug.message);
  assertEquals(await pool.ask(0, 2), 2);
});

Deno.test("a pool whose workers cannot open fails at once and in every job", async () => {
  using pool = poolOf(moduleOf(`() => { throw new FormatError("it is gone", { path: "b" }); }`));
  await assertRejects(() => pool.ready, UserError, "Cannot read b: it is gone");
  await assertRejects(() => pool.ask(0, 1), UserError, "Cannot read b: it is gone");
});

Deno.test("a pool fails the jobs of a worker that dies, at its start or at work", async () => {
  using atStart = poolOf(moduleOf(`() => (n) => n`, `throw new Error("out of luck");`));
  await assertRejects(
    () => atStart.ready,
    Error,
    "test worker 1 of 1 failed: Uncaught (in promise) Error: out of luck",
  );
  await assertRejects(() => atStart.ask(0, 1), Error, "out of luck");
  const module = moduleOf(`() => (n) => new Promise((resolve) => {
    if (n === 0) return resolve(n);
    setTimeout(() => { throw new Error("worn out"); }, 10);
  })`);
  using atWork = poolOf<number>(module, { numWorkers: 2 });
  const results = atWork.inOrder([0, 0, 1, 0]);
  assertEquals([(await results.next()).value, (await results.next()).value], [0, 0]);
  await assertRejects(() => results.next(), Error, "test worker 1 of 2 failed: Uncaught Error: worn out");
});

Deno.test("a pool stops at its signal even if no worker answers", async () => {
  const controller = new AbortController();
  using pool = poolOf(moduleOf(`() => () => new Promise(() => {})`), {
    numWorkers: 2,
    signal: controller.signal,
  });
  await pool.ready;
  const results = assertRejects(() => Array.fromAsync(pool.inOrder([1, 2, 3])), Error, "enough");
  controller.abort(new Error("enough"));
  await results;
  await assertRejects(() => pool.ask(0, 4), Error, "enough");
});

Deno.test("stop() aborts the jobs under way, which may report until they end", async () => {
  const module = moduleOf(`() => (n, { signal, report }) => {
    report("begun");
    return new Promise((resolve) => signal.onabort = () => (report("put away"), resolve(n)));
  }`);
  using pool = poolOf<number>(module);
  const events: string[] = [];
  const begun = Promise.withResolvers<void>();
  const asked = pool.ask(0, 5, (event) => {
    events.push(event);
    begun.resolve();
  });
  await begun.promise;
  pool.stop();
  assertEquals(await asked, 5);
  assertEquals(events, ["begun", "put away"]);
});
