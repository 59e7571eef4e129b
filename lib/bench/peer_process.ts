/**
 * A process that runs jax-js and answers requests, so that it and this program can take turns.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { UserError } from "../errors.ts";
import type { PeerReply, PeerRequest } from "./peers_child.ts";

/** What answers requests. */
export interface Peer {
  ask(request: PeerRequest): Promise<PeerReply>;
}

/** How jax-js is started. */
export interface PeerOptions {
  /** Ends it. */
  signal?: AbortSignal;
  /** Whether to do without npm, with what was fetched before. */
  cachedOnly?: boolean;
  /** Deno's cache, where that is (DENO_DIR, else Deno's default). */
  cacheDir?: string;
}

/** jax-js in a process of its own; to be disposed of. */
export class PeerProcess implements Peer, Disposable {
  readonly #child: Deno.ChildProcess;
  readonly #requests: WritableStreamDefaultWriter<Uint8Array>;
  readonly #replies: ReadableStreamDefaultReader<string>;
  readonly #errors: Promise<string>;
  readonly #signal: AbortSignal | undefined;
  readonly #stop = () => {
    try {
      this.#child.kill("SIGTERM");
    } catch {
      // It has ended already.
    }
  };
  #received = "";

  private constructor({ signal, cachedOnly, cacheDir }: PeerOptions) {
    const path = (name: string) => fromFileUrl(new URL(name, import.meta.url));
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-prompt",
        "--no-config",
        `--lock=${path("peers.lock")}`,
        "--frozen",
        ...(cachedOnly ? ["--cached-only"] : []),
        "--allow-read",
        "--allow-env",
        "--allow-sys",
        path("peers_child.ts"),
      ],
      env: { NO_COLOR: "1", ...(cacheDir === undefined ? {} : { DENO_DIR: cacheDir }) },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#requests = this.#child.stdin.getWriter();
    this.#replies = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#errors = new Response(this.#child.stderr).text();
    this.#signal = signal;
    signal?.addEventListener("abort", this.#stop);
  }

  /**
   * Starts jax-js, which is fetched from npm the first time.
   *
   * @throws {UserError} If it cannot be had.
   */
  static async start(options: PeerOptions = {}): Promise<PeerProcess> {
    if (Deno.build.standalone) {
      throw new UserError(
        "Cannot compare with jax-js: this is the compiled program, a checkout was wanted; run bench from one",
      );
    }
    const peer = new PeerProcess(options);
    const { unavailable } = await peer.ask({ kind: "start" });
    if (unavailable === undefined) return peer;
    peer[Symbol.dispose]();
    throw new UserError(`Cannot compare with jax-js: it cannot be had: ${unavailable}`);
  }

  /**
   * Asks one thing; the next may be asked when it is answered.
   *
   * @throws {UserError} If the process ended; the message says why.
   */
  async ask(request: PeerRequest): Promise<PeerReply> {
    // Of a process that ended the missing reply tells.
    await this.#requests.write(new TextEncoder().encode(JSON.stringify(request) + "\n")).catch(() => {});
    let end: number;
    while ((end = this.#received.indexOf("\n")) < 0) {
      const { value, done } = await this.#replies.read();
      this.#signal?.throwIfAborted();
      if (done) {
        const lines = (await this.#errors).trimEnd().split("\n");
        const reason = lines.find((line) => line.startsWith("error: ")) ?? lines.at(-1) ?? "";
        throw new UserError(
          `Cannot compare with jax-js: its process ended: ${reason.replace(/^error: /, "")}`,
        );
      }
      this.#received += value;
    }
    const line = this.#received.slice(0, end);
    this.#received = this.#received.slice(end + 1);
    return JSON.parse(line) as PeerReply;
  }

  [Symbol.dispose](): void {
    this.#signal?.removeEventListener("abort", this.#stop);
    this.#stop();
  }
}
