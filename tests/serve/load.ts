/**
 * Measures `serve` under load. This is not a test; run it by hand:
 *
 * `deno run -A tests/serve/load.ts CHECKPOINT QUESTIONS.jsonl`
 *
 * It compares `/v1/rtt:batch` with `query rtt --queries`, whose startup time is measured with one question
 * and subtracted. With autocannon it measures the latency of single questions at 1, 8 and 64 clients.
 * `memory_long_test.ts` measures memory.
 *
 * @module
 */
import { ensure } from "../../lib/base/errors.ts";
import { succeed } from "../cli/process.ts";
import { LINES, TestServer } from "./test_server.ts";

const ROUNDS = 3;
const NUM_CLIENTS = [1, 8, 64];
const CLIENT_SECONDS = 20;

const [checkpoint, questions] = Deno.args;
const lines = Deno.readTextFileSync(questions).trimEnd().split("\n");
const [first] = lines.map((line) => JSON.parse(line));
const single = `v1/rtt?${new URLSearchParams({ src: first.src, dst: first.dst })}`;

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1];
const secondsOf = async (work: () => Promise<unknown>) => {
  const startMs = performance.now();
  await work();
  return (performance.now() - startMs) / 1000;
};

async function askStage(file: string): Promise<void> {
  await succeed("query", "rtt", "--checkpoint", checkpoint, "--queries", file);
}

async function askServer(server: TestServer): Promise<void> {
  const body = Deno.readFileSync(questions);
  const response = await server.fetch("v1/rtt:batch", { method: "POST", headers: LINES, body });
  const answers = (await response.text()).trimEnd().split("\n");
  ensure(
    answers.length === lines.length && !answers.some((line) => line.includes('"error"')),
    "all are answered",
  );
}

async function compareThroughput(server: TestServer): Promise<void> {
  const one = Deno.makeTempFileSync({ suffix: ".jsonl" });
  Deno.writeTextFileSync(one, lines[0] + "\n");
  const stage: number[] = [];
  const served: number[] = [];
  await askServer(server);
  for (let round = 0; round < ROUNDS; round++) {
    const startS = await secondsOf(() => askStage(one));
    stage.push(lines.length / (await secondsOf(() => askStage(questions)) - startS));
    served.push(lines.length / await secondsOf(() => askServer(server)));
    console.log(
      `round ${round + 1}: query rtt ${stage.at(-1)?.toFixed(1)}/s, serve ${served.at(-1)?.toFixed(1)}/s`,
    );
  }
  const ratio = median(served.map((rate, i) => rate / stage[i]));
  console.log(
    `median: query rtt ${median(stage).toFixed(1)}/s, serve ${median(served).toFixed(1)}/s, ratio ${
      ratio.toFixed(3)
    }`,
  );
  Deno.removeSync(one);
}

async function autocannon(url: string, clients: number): Promise<string> {
  const load = ["-j", "-c", `${clients}`, "-d", `${CLIENT_SECONDS}`, url];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-lock", "npm:autocannon@9.0.0", ...load],
  }).output();
  ensure(code === 0, new TextDecoder().decode(stderr));
  const { latency, requests, errors, non2xx } = JSON.parse(new TextDecoder().decode(stdout));
  return `${clients} clients: p50 ${latency.p50} ms, p99 ${latency.p99} ms, ${requests.average}/s, ` +
    `${errors} errors, ${non2xx} refused`;
}

await using server = await TestServer.start(checkpoint);
await compareThroughput(server);
for (const clients of NUM_CLIENTS) console.log(await autocannon(server.url + single, clients));
