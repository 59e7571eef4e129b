/**
 * A thread that tries to read, to write and more, and answers which attempts its permissions did not refuse.
 * As a program, `permission_probe.ts PERMISSIONS ATTEMPTS` (JSON), starts such a thread and prints its answer.
 *
 * @module
 */

/** The paths to try, each by itself. */
export interface Attempts {
  reads: string[];
  writes: string[];
  /** Whether a thread of this thread tries. */
  isNested: boolean;
}

/** The attempts that were not refused. */
export interface Allowed {
  reads: string[];
  writes: string[];
  others: string[];
}

const OTHERS: Record<string, () => unknown> = {
  env: () => Deno.env.get("HOME"),
  net: () => Deno.listen({ port: 0 }).close(),
  loopback: () => Deno.listen({ hostname: "127.0.0.1", port: 0 }).close(),
  served: () => Deno.listen({ hostname: "127.0.0.1", port: 8080 }).close(),
  run: () => new Deno.Command("true").outputSync(),
  deno: () => new Deno.Command(Deno.execPath(), { args: ["--version"] }).outputSync(),
  sbatch: () => new Deno.Command("sbatch", { args: ["--version"] }).outputSync(),
  memory: () => Deno.systemMemoryInfo(),
  hostname: () => Deno.hostname(),
};

/**
 * Whether an attempt came past the permissions. A missing path tells nothing of them, so it must be there.
 *
 * @throws {Deno.errors.NotFound} If what is tried does not exist.
 */
function isAllowed(attempt: () => unknown): boolean {
  try {
    attempt();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw error;
    return !(error instanceof Deno.errors.NotCapable);
  }
  return true;
}

/** A folder is read by listing it, and written by making one in it. */
const read = (path: string) => () =>
  path.endsWith("/") ? [...Deno.readDirSync(path)] : Deno.readFileSync(path);
const write = (path: string) => () =>
  path.endsWith("/")
    ? Deno.mkdirSync(`${path}made`, { recursive: true })
    : Deno.writeTextFileSync(path, "written");

function serveThread(): void {
  const thread = globalThis as unknown as Pick<Worker, "onmessage" | "postMessage">;
  thread.onmessage = ({ data }: MessageEvent<Attempts>) => {
    if (data.isNested) {
      const nested = new Worker(import.meta.url, { type: "module" });
      nested.onmessage = ({ data }) => thread.postMessage(data);
      nested.postMessage({ ...data, isNested: false });
      return;
    }
    const allowed: Allowed = {
      reads: data.reads.filter((path) => isAllowed(read(path))),
      writes: data.writes.filter((path) => isAllowed(write(path))),
      others: Object.keys(OTHERS).filter((name) => isAllowed(OTHERS[name])),
    };
    thread.postMessage(allowed);
  };
}

if ("DedicatedWorkerGlobalScope" in globalThis) serveThread();
else {
  const [permissions, attempts] = Deno.args.map((text) => JSON.parse(text));
  const worker = new Worker(import.meta.url, { type: "module", deno: { permissions } });
  worker.onmessage = ({ data }) => {
    console.log(JSON.stringify(data));
    worker.terminate();
  };
  worker.postMessage(attempts);
}
