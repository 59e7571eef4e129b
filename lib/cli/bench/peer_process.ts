/**
 * A process that runs another program, jax-js or PyTorch, and answers requests, so that both programs take turns.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { UserError } from "../../base/errors.ts";
import type { PeerReply, PeerRequest } from "./peers_child.ts";

/** A program that answers requests. */
export interface Peer {
  readonly name: PeerName;
  ask(request: PeerRequest): Promise<PeerReply>;
}

/** The peers: jax-js on the same adapter, PyTorch on the processor. */
export const PEERS = ["jax-js", "PyTorch", "torch.compile"] as const;

/** One of {@link PEERS}. */
export type PeerName = typeof PEERS[number];

/** The options of starting a peer. */
export interface PeerOptions {
  /** Stops it. */
  signal?: AbortSignal;
  /** Whether jax-js may use only cached packages. */
  cachedOnly?: boolean;
  /** Further environment variables. */
  env?: Record<string, string>;
}

/** A peer in a separate process. */
export class PeerProcess implements Peer, Disposable {
  readonly #child: Deno.ChildProcess;
  readonly #requests: WritableStreamDefaultWriter<Uint8Array>;
  readonly #replies: ReadableStreamDefaultReader<string>;
  readonly #errors: Promise<string>;
  readonly #signal: AbortSignal | undefined;
  #received = "";

  private constructor(readonly name: PeerName, options: PeerOptions) {
    this.#child = commandOf(name, options).spawn();
    this.#requests = this.#child.stdin.getWriter();
    this.#replies = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#errors = new Response(this.#child.stderr).text();
    this.#signal = options.signal;
  }

  /**
   * Starts a peer. The first start of jax-js fetches it from npm.
   *
   * @throws {UserError} If the peer is not available.
   */
  static async start(name: PeerName, options: PeerOptions = {}): Promise<PeerProcess> {
    if (Deno.build.standalone) {
      throw new UserError(
        `Cannot compare with ${name}: this is the compiled program, expected a checkout; run bench from one`,
      );
    }
    let peer: PeerProcess;
    try {
      peer = new PeerProcess(name, options);
    } catch (cause) {
      if (!(cause instanceof Deno.errors.NotFound)) throw cause;
      throw new UserError(`Cannot compare with ${name}: there is no python3, expected one with torch`, {
        cause,
      });
    }
    const { unavailable } = await peer.ask({ kind: "start" });
    if (unavailable === undefined) return peer;
    peer[Symbol.dispose]();
    throw new UserError(`Cannot compare with ${name}: it is not available: ${unavailable}`);
  }

  /**
   * Sends a request. The next one may be sent after the reply.
   *
   * @throws {UserError} If the process ended; the message has the reason.
   */
  async ask(request: PeerRequest): Promise<PeerReply> {
    // If the process has ended, the missing reply is reported.
    await this.#requests.write(new TextEncoder().encode(JSON.stringify(request) + "\n")).catch(() => {});
    while (!this.#received.includes("\n")) {
      const { value, done } = await this.#replies.read();
      this.#signal?.throwIfAborted();
      if (done) {
        throw new UserError(`Cannot compare with ${this.name}: its process ended: ${await this.#reason()}`);
      }
      this.#received += value;
    }
    const [line, ...rest] = this.#received.split("\n");
    this.#received = rest.join("\n");
    return JSON.parse(line) as PeerReply;
  }

  async #reason(): Promise<string> {
    const lines = (await this.#errors).trimEnd().split("\n");
    return (lines.find((line) => line.startsWith("error: ")) ?? lines.at(-1) ?? "").replace(/^error: /, "");
  }

  [Symbol.dispose](): void {
    try {
      this.#child.kill("SIGTERM");
    } catch {
      // It has already ended.
    }
  }
}

function commandOf(name: PeerName, { signal, cachedOnly = false, env }: PeerOptions): Deno.Command {
  const path = (file: string) => fromFileUrl(new URL(file, import.meta.url));
  const options: Deno.CommandOptions = {
    env: { NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  };
  if (signal) options.signal = signal;
  if (name !== "jax-js") {
    options.args = [path("peers_torch.py"), name === "PyTorch" ? "eager" : "compiled"];
    return new Deno.Command("python3", options);
  }
  const permissions = ["--no-prompt", "--allow-read", "--allow-env", "--allow-sys"];
  const lock = ["--no-config", `--lock=${path("peers.lock")}`, "--frozen"];
  if (cachedOnly) lock.push("--cached-only");
  options.args = ["run", ...permissions, ...lock, path("peers_child.ts")];
  return new Deno.Command(Deno.execPath(), options);
}
