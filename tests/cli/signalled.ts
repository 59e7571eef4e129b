/**
 * A process that sends signals to itself, or whose stage has a bug or threads; tests check how it ends. The
 * first argument says where it is.
 *
 * @module
 */
import {
  endProcess,
  runStageThread,
  SignalListener,
  type StageCommand,
  type StageReport,
} from "../../lib/cli/stage_thread.ts";
import { SimulatedTime } from "../simulated_time.ts";
import { until } from "../until.ts";

const [place, ...names] = Deno.args;
// The listeners alone do not keep a process alive.
setTimeout(() => endProcess({ exitCode: 99, text: "nothing ended it" }), 600_000);

/** Also reports when a stage begins to listen. */
class ObservedListener extends SignalListener {
  readonly #begun = Promise.withResolvers<void>();
  readonly begun = this.#begun.promise;

  override begin(...args: Parameters<SignalListener["begin"]>): void {
    super.begin(...args);
    this.#begun.resolve();
  }
}
const signals = new ObservedListener();

/**
 * Sends the signals. Two simultaneous signals of one kind are merged, so each is sent after the previous one
 * has arrived.
 */
async function sendAll(): Promise<void> {
  for (const name of names as Deno.Signal[]) {
    const { promise: hasCome, resolve } = Promise.withResolvers<void>();
    Deno.addSignalListener(name, resolve);
    Deno.kill(Deno.pid, name);
    await hasCome;
    Deno.removeSignalListener(name, resolve);
  }
}

/** Starts a thread that runs this code, which can post its reports with `postMessage`. */
function runCode(code: string): void {
  const module = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  runStageThread(module, ["argument"], { permissions: "none", signals });
}

/** More than the number of seconds after which a stuck stage is ended. */
const NUM_LOOKS = 100;

function signsOfStage(): Promise<Int32Array> {
  const { postMessage } = Worker.prototype;
  return new Promise((resolve) => {
    Worker.prototype.postMessage = function (message: StageCommand, ...rest: never[]) {
      if (message.kind === "run") resolve(message.signs);
      postMessage.call(this, message, ...rest);
    };
  });
}

const ready = `postMessage(${JSON.stringify({ kind: "ready" } satisfies StageReport)});`;
const end = (exitCode: string, text: string) =>
  `postMessage({ kind: "end", outcome: { exitCode: ${exitCode}, text: ${text} } });`;

if (place === "before the thread") {
  await sendAll();
} else if (place === "while the thread is loaded") {
  runCode("await new Promise(() => {});");
  await sendAll();
} else if (place === "in the stage") {
  runCode(`
    const { promise: allSent, resolve } = Promise.withResolvers();
    new BroadcastChannel("sent").onmessage = resolve;
    onmessage = async ({ data: { signal } }) => {
      if (!signal) return;
      await allSent;
      ${end("75", `"stage saw " + signal`)}
    };
    ${ready}`);
  await signals.begun;
  await sendAll();
  new BroadcastChannel("sent").postMessage("all");
} else if (place === "in a busy stage") {
  runCode(`onmessage = () => { for (;;); }; ${ready}`);
  await signals.begun;
  await sendAll();
} else if (place === "in a stuck stage") {
  runCode(`onmessage = () => { for (;;); }; ${ready}`);
  await signals.begun;
  using time = new SimulatedTime();
  await sendAll();
  for (let s = 0; s < NUM_LOOKS; s++) time.pass(1000);
} else if (place === "in a stage that saves for long") {
  const signs = signsOfStage();
  runCode(`onmessage = ({ data }) => { for (;;) Atomics.add(data.signs, 0, 1); }; ${ready}`);
  await signals.begun;
  const counted = await signs;
  using time = new SimulatedTime();
  await sendAll();
  for (let s = 0; s < NUM_LOOKS; s++) {
    const count = Atomics.load(counted, 0);
    await until("a sign of work", () => Atomics.load(counted, 0) !== count);
    time.pass(1000);
  }
  endProcess({ exitCode: 98, text: "it was not cut off" });
} else if (place === "with work at its end") {
  const lib = new URL("../../lib/", import.meta.url).href;
  const [how, ...sent] = names.splice(0);
  names.push(...sent);
  runCode(`
    import { serveStage } from "${lib}cli/stage.ts";
    import { UserError } from "${lib}base/errors.ts";
    addEventListener("unload", () => console.error("finished"));
    const how = ${JSON.stringify(how)};
    const run = () => {
      console.error("running");
      if (how === "a mistake") throw new UserError("a mistake");
      if (how === "a bug") throw new TypeError("a bug");
      if (how === "a rejection that nothing awaits") Promise.reject(new TypeError("a bug"));
      if (how === "an error in a timer") setTimeout(() => { throw new TypeError("a bug"); });
      return how === "done" ? Promise.resolve({ text: "done", json: {} }) : new Promise(() => {});
    };
    serveStage({ name: "test", purpose: "", help: () => "", check: () => {}, run });`);
  if (names.length > 0) {
    await signals.begun;
    // However long the thread takes to finish.
    new SimulatedTime();
    await sendAll();
  }
} else if (place === "a bug") {
  runCode(`onmessage = () => { throw new TypeError("a bug of ours"); }; ${ready}`);
} else if (place === "with threads of its own") {
  const lib = new URL("../../lib/", import.meta.url).href;
  const thread = (code: string) => `new URL("data:text/javascript,${encodeURIComponent(code)}")`;
  const echo = `import { serveThread } from "${lib}io/threads/worker_pool.ts";
    const answer = serveThread((bytes) => answer(bytes, [bytes.buffer]));`;
  runCode(`
    import { serveStage } from "${lib}cli/stage.ts";
    import { startThread } from "${lib}io/threads/worker_pool.ts";
    const run = async () => {
      const echo = startThread(${thread(echo)});
      const answered = new Promise((resolve) => echo.onmessage = ({ data }) => resolve(data));
      const bytes = new Uint8Array([7]);
      echo.postMessage(bytes, [bytes.buffer]);
      const text = "sent " + bytes.length + ", got " + await answered;
      echo.terminate();
      const broken = startThread(${thread('throw new Error("worn out")')});
      const { message } = await new Promise((resolve) => broken.onerror = resolve);
      return { text: text + ", " + message, json: {} };
    };
    serveStage({ name: "test", purpose: "", help: () => "", check: () => {}, run });`);
} else endProcess({ exitCode: 2, text: `no place ${place}` });
