/**
 * A process that runs another program, jax-js or PyTorch, and answers requests, so that both programs can take turns.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { UserError } from "../errors.ts";
import type { PeerReply, PeerRequest } from "./peers_child.ts";

/** What answers requests. */
export interface Peer {
  readonly name: PeerName;
  ask(request: PeerRequest): Promise<PeerReply>;
}

/** The peers: jax-js on the same adapter, PyTorch on the processor. */
export const PEERS = ["jax-js", "PyTorch", "torch.compile"] as const;

/** One of {@link PEERS}. */
export type PeerName = typeof PEERS[number];

/** How a peer is started. */
export interface PeerOptions {
  /** Stops it. */
  signal?: AbortSignal;
  /** For jax-js: whether to use only packages that were fetched before. */
  cachedOnly?: boolean;
  /** For jax-js: Deno's cache (DENO_DIR, or Deno's default). */
  cacheDir?: string;
  /** For PyTorch: where `python3` is searched (PATH). */
  searchPath?: string;
}

/** A peer in a process of its own; to be disposed of. */
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

  private constructor(readonly name: PeerName, { signal, cachedOnly, cacheDir, searchPath }: PeerOptions) {
    const path = (file: string) => fromFileUrl(new URL(file, import.meta.url));
    const jax = [
      `--lock=${path("peers.lock")}`,
      "--frozen",
      ...(cachedOnly ? ["--cached-only"] : []),
      ...["--allow-read", "--allow-env", "--allow-sys"],
      path("peers_child.ts"),
    ];
    const mode = name === "PyTorch" ? "eager" : "compiled";
    const torch = ["--allow-run=python3", path("peers_torch_child.ts"), mode];
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", "--no-config", ...(name === "jax-js" ? jax : torch)],
      env: {
        NO_COLOR: "1",
        ...(cacheDir === undefined ? {} : { DENO_DIR: cacheDir }),
        ...(searchPath === undefined ? {} : { PATH: searchPath }),
      },
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
   * Starts a peer; jax-js is fetched from npm the first time.
   *
   * @throws {UserError} If it cannot be had.
   */
  static async start(name: PeerName, options: PeerOptions = {}): Promise<PeerProcess> {
    if (Deno.build.standalone) {
      throw new UserError(
        `Cannot compare with ${name}: this is the compiled program, a checkout was wanted; run bench from one`,
      );
    }
    const peer = new PeerProcess(name, options);
    const { unavailable } = await peer.ask({ kind: "start" });
    if (unavailable === undefined) return peer;
    peer[Symbol.dispose]();
    throw new UserError(`Cannot compare with ${name}: it cannot be had: ${unavailable}`);
  }

  /**
   * Asks one thing; the next may be asked when it is answered.
   *
   * @throws {UserError} If the process ended; the message says why.
   */
  async ask(request: PeerRequest): Promise<PeerReply> {
    // If the process has ended, the missing reply is reported.
    await this.#requests.write(new TextEncoder().encode(JSON.stringify(request) + "\n")).catch(() => {});
    let end: number;
    while ((end = this.#received.indexOf("\n")) < 0) {
      const { value, done } = await this.#replies.read();
      this.#signal?.throwIfAborted();
      if (done) {
        const lines = (await this.#errors).trimEnd().split("\n");
        const reason = lines.find((line) => line.startsWith("error: ")) ?? lines.at(-1) ?? "";
        throw new UserError(
          `Cannot compare with ${this.name}: its process ended: ${reason.replace(/^error: /, "")}`,
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
