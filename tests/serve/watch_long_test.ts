import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { basename, join } from "@std/path";
import { loadResumable, makeLatest, saveCheckpoint } from "../../lib/train/checkpoint.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { until } from "../until.ts";
import { PAIR, PAIR_QUERY, TestServer } from "./test_server.ts";

/** Waits until the server has failed several times to load a newer model. */
async function untilTriedAgain(server: TestServer): Promise<void> {
  const numFailed = async () => {
    const text = await (await server.fetch("/metrics")).text();
    return Number(/^ping_llm_model_load_failures_total (\d+)$/m.exec(text)?.[1]);
  };
  await until("it is tried again", async () => await numFailed() >= 3);
}

Deno.test("serve --watch replaces the model without a failed request, and keeps it if the new one is damaged", () =>
  withCheckpoint(async (folder, checkpoint) => {
    await using server = await TestServer.start(checkpoint, "--watch", "--watch-s", "0.2");
    const checkpoints = join(folder, "checkpoints");
    const { state, weights, optimizer, trainingData } = loadResumable(checkpoint);
    const save = (step: number, to = checkpoints) => {
      for (const values of weights.values()) values[0] += 0.5;
      const content = { state: { ...state, step }, weights, optimizer, trainingData };
      return saveCheckpoint(to, content, { keep: 9 });
    };
    let isDone = false;
    const steps = new Set<number>();
    let numAnswers = 0;
    const ask = async () => {
      while (!isDone) {
        const response = await server.fetch(`/v1/rtt?${PAIR_QUERY}&at=${numAnswers++}`);
        const { step, detail } = await response.json();
        assertEquals(response.status, 200, detail);
        steps.add(step);
      }
    };
    const askLines = async () => {
      while (!isDone) {
        const answers = await server.postLines("/v1/rtt:batch", Array.from({ length: 200 }, () => PAIR));
        // A request is answered by one model throughout.
        assertEquals(new Set(answers.map(({ step, error }) => error ?? step)).size, 1);
        numAnswers += answers.length;
      }
    };
    const clients = Promise.all([ask(), ask(), ask(), askLines(), askLines()]);
    // A failing client ends the test immediately.
    const served = (step: number) => Promise.race([clients, until(`step ${step}`, () => steps.has(step))]);
    const before = (await server.fetch("/v1/model")).headers.get("etag");
    for (const step of [4, 5, 6]) {
      save(step);
      await served(step);
    }
    // Damaged before the server can see it, so that every check finds the same content.
    const hidden = save(7, folder);
    Deno.writeTextFileSync(join(hidden, "model.safetensors"), "damaged");
    const seventh = join(checkpoints, basename(hidden));
    Deno.renameSync(hidden, seventh);
    makeLatest(seventh);
    const damaged = join(seventh, "model.safetensors");
    await Promise.race([clients, until("the note of it", () => server.errors.includes(damaged))]);
    const response = await server.fetch("/v1/model");
    assertEquals((await response.json()).step, 6);
    assert(response.headers.get("etag") !== before);
    save(8);
    await served(8);
    isDone = true;
    await clients;
    assertEquals([...steps], [3, 4, 5, 6, 8]);
    assertStringIncludes(await (await server.fetch("/metrics")).text(), "\nping_llm_model_swaps_total 4\n");
    server.kill("SIGTERM");
    const { code, stderr } = await server.end();
    assertEquals(code, 75);
    const numLogged = (text: string) => stderr.split("\n").filter((line) => line.includes(text)).length;
    assertEquals([numLogged("instead of"), numLogged(`Cannot read ${damaged}`)], [4, 1], stderr);
  }));

Deno.test("serve --watch keeps serving if the newer model cannot be loaded, and reports it once", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const report = join(folder, "report.json");
    const { state } = loadResumable(checkpoint);
    const write = (modelSha256: string) =>
      Deno.writeTextFileSync(
        report,
        JSON.stringify({ run: { modelSha256, numMeasurements: 1, split: "test" } }),
      );
    write(state.files.model.sha256);
    const watch = ["--watch", "--watch-s", "0.1", "--report", report];
    await using server = await TestServer.start(checkpoint, ...watch);
    const before = (await server.fetch("/v1/model")).headers.get("etag");
    write("0".repeat(64));
    await until("the note of it", () => server.errors.includes("of another model"));
    await untilTriedAgain(server);
    assertEquals((await server.fetch("/v1/model")).headers.get("etag"), before);
    server.kill("SIGTERM");
    const { code, stderr } = await server.end();
    assertEquals(
      [code, stderr.match(/it is the report of another model.*; still serving step 3/g)?.length],
      [75, 1],
      stderr,
    );
  }));
