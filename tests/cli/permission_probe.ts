/**
 * A thread that attempts to read, write and more, and answers which attempts its permissions allowed. As a
 * program, `permission_probe.ts ATTEMPTS PERMISSIONS…` (JSON), it starts a thread with each of the
 * permissions, one after the other, and prints their answers.
 *
 * @module
 */

/** The paths to try, each by itself. */
export interface Attempts {
  reads: string[];
  writes: string[];
}

export interface Allowed extends Attempts {
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
 * Whether the permissions allow an attempt. A missing path reveals nothing about them, so it must exist.
 *
 * @throws {Deno.errors.NotFound} If the path does not exist.
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

/** A folder is read by listing it, and written by making a folder in it. */
const read = (path: string) => () =>
  path.endsWith("/") ? [...Deno.readDirSync(path)] : Deno.readFileSync(path);
const write = (path: string) => () =>
  path.endsWith("/")
    ? Deno.mkdirSync(`${path}made`, { recursive: true })
    : Deno.writeTextFileSync(path, "written");

function serveThread(): void {
  const thread = globalThis as unknown as Pick<Worker, "onmessage" | "postMessage">;
  thread.onmessage = ({ data }: MessageEvent<Attempts>) => {
    const allowed: Allowed = {
      reads: data.reads.filter((path) => isAllowed(read(path))),
      writes: data.writes.filter((path) => isAllowed(write(path))),
      others: Object.keys(OTHERS).filter((name) => isAllowed(OTHERS[name])),
    };
    thread.postMessage(allowed);
  };
}

async function tryWith(permissions: Deno.PermissionOptions, attempts: Attempts): Promise<Allowed> {
  const worker = new Worker(import.meta.url, { type: "module", deno: { permissions } });
  const answered = new Promise<Allowed>((resolve) => worker.onmessage = ({ data }) => resolve(data));
  worker.postMessage(attempts);
  const allowed = await answered;
  worker.terminate();
  return allowed;
}

if ("DedicatedWorkerGlobalScope" in globalThis) serveThread();
else {
  const [attempts, ...sets] = Deno.args.map((text) => JSON.parse(text));
  const answers: Allowed[] = [];
  for (const permissions of sets) answers.push(await tryWith(permissions, attempts));
  console.log(JSON.stringify(answers));
}
