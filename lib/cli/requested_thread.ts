/**
 * A thread that the program's first thread starts for a stage; see lib/threads.
 *
 * @module
 */
import type { Thread } from "../threads/thread.ts";
import type { StageReport } from "./stage_thread.ts";

/** The stage's handle of such a thread. */
export class RequestedThread implements Thread {
  onmessage: Thread["onmessage"] = null;
  onerror: Thread["onerror"] = null;
  readonly #port: MessagePort;

  /**
   * Asks for the thread.
   *
   * @param id Its number among those of the stage.
   * @param module Its module.
   * @param main The first thread.
   */
  constructor(readonly id: number, module: URL, readonly main: Pick<Worker, "postMessage">) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.onmessage = (event) => this.onmessage?.(event);
    const request: StageReport = { kind: "start thread", id, module: module.href, port: port2 };
    main.postMessage(request, [port2]);
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  terminate(): void {
    const request: StageReport = { kind: "end thread", id: this.id };
    this.main.postMessage(request);
    this.#port.close();
  }

  /** Reports that the thread has died. */
  fail(message: string): void {
    this.onerror?.({ message, preventDefault: () => {} });
  }
}
