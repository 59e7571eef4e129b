/**
 * A process that sends signals to itself: how it ends is what a test asks. The first argument says where it is.
 *
 * @module
 */
import { endProcess, SignalListener } from "../../lib/cli/ending.ts";
import { runStageThread, type StageReport } from "../../lib/cli/stage_thread.ts";

const [place, ...names] = Deno.args;
const signals = new SignalListener();

async function sendAll(): Promise<void> {
  for (const name of names) {
    Deno.kill(Deno.pid, name as Deno.Signal);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A thread that runs this code, which can post its reports with `postMessage`. */
function runCode(code: string): void {
  const module = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  runStageThread(module, ["argument"], { permissions: "none", signals });
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
    let signal = "none";
    onmessage = ({ data }) => {
      if (data.kind === "run") setTimeout(() => {${end("75", `"stage saw " + signal`)}}, 300);
      else signal = data.signal;
    };
    ${ready}`);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await sendAll();
} else if (place === "in a busy stage") {
  runCode(`onmessage = () => { for (;;); }; ${ready}`);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await sendAll();
} else if (place === "a bug") {
  runCode(`onmessage = () => { throw new TypeError("a bug of ours"); }; ${ready}`);
} else endProcess({ exitCode: 2, text: `no place ${place}` });
// The listeners alone do not keep a process alive.
setTimeout(() => endProcess({ exitCode: 99, text: "nothing ended it" }), 10_000);
