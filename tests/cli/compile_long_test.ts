/**
 * The single file, made once and run as on a machine without anything of this program: no checkout,
 * environment, Deno or network. Its form depends on whether Deno's runtime stub is available here; a launcher
 * is tested in any case.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { basename, dirname, fromFileUrl, join } from "@std/path";
import { programLicenses } from "../../lib/serve/page_files.ts";
import { versionText } from "../../lib/cli/version.ts";
import { helpOf } from "../../lib/cli/command.ts";
import { moduleOf, STAGES } from "../../tasks/stages.ts";
import { stateOf, TemporaryFolder } from "../io/files/temporary_folder.ts";
import { untilAtWork } from "../until.ts";
import { outputOf, type ProcessResult, requirePage, runDeno, runStageProcess, succeeded } from "./process.ts";

const MAIN = fromFileUrl(new URL("../../tasks/main.ts", import.meta.url));
const ATLAS = fromFileUrl(new URL("../fuzz/atlas.jsonl.bz2", import.meta.url));
/** The only commands that a launcher finds on a bare machine. */
const COMMANDS = ["sh", "tail", "gzip", "tar", "cat"].concat(
  ["chmod", "find", "id", "ls", "mkdir", "mktemp", "mv", "rm", "sync", "uname", "wc"],
);
/** The output of `--version`, which includes the commit even without a checkout. */
const version = `${versionText()}\n`;
/** Where nobody can make folders, not even root. */
const NOWHERE = "/proc/nowhere";
const SHARDING = ["--split-by", "row", "--train-shards", "2", "--val-shards", "1", "--test-shards", "1"];

/** The file on a machine: with another name, in a folder with a space, and with a separate home. */
class Machine {
  readonly program: string;
  readonly env: Record<string, string>;

  constructor(readonly folder: TemporaryFolder, made: string) {
    this.program = folder.at("some folder/ping llm");
    for (const name of ["some folder", "bin", "tmp", "home"]) Deno.mkdirSync(folder.at(name));
    Deno.copyFileSync(made, this.program);
    for (const name of COMMANDS) Deno.symlinkSync(pathOf(name), folder.at(`bin/${name}`));
    const nowhere = "http://127.0.0.1:9";
    this.env = {
      PATH: folder.at("bin"),
      HOME: folder.at("home"),
      TMPDIR: folder.at("tmp"),
      NO_COLOR: "1",
      HTTP_PROXY: nowhere,
      HTTPS_PROXY: nowhere,
      NPM_CONFIG_REGISTRY: nowhere,
    };
  }

  spawn(args: readonly string[], { env = {}, program = this.program, stdin = "null" }: {
    env?: Record<string, string>;
    program?: string;
    stdin?: "null" | "piped";
  } = {}): Deno.ChildProcess {
    return new Deno.Command(program, {
      args: [...args],
      cwd: dirname(this.program),
      env: { ...this.env, ...env },
      clearEnv: true,
      stdin,
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  }

  async run(args: readonly string[], options: Parameters<Machine["spawn"]>[1] = {}): Promise<ProcessResult> {
    return await outputOf(this.spawn(args, options));
  }

  /** Runs it, asserts success, and returns what it printed. */
  async done(args: readonly string[], options: Parameters<Machine["spawn"]>[1] = {}): Promise<string> {
    const { stdout } = await succeeded(this.run(args, options));
    return stdout;
  }
}

function pathOf(command: string): string {
  const path = (Deno.env.get("PATH") ?? "").split(":").map((folder) => join(folder, command)).find(isFile);
  assert(path, `${command} is not on PATH`);
  return path;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Names in a folder; none if there is no such folder. */
function namesIn(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name);
  } catch {
    return [];
  }
}

interface Made {
  path: string;
  form: string;
  hash: string;
}

async function compileTo(path: string, ...form: string[]): Promise<Made> {
  requirePage();
  const args = [MAIN, "compile", "--output", path, "--json", ...form];
  const { stdout } = await succeeded(runDeno(["--allow-read", "--allow-write", "--allow-run", ...args]));
  return { path, ...JSON.parse(stdout) };
}

const folder = new TemporaryFolder();
/** The form that this machine can make, and a launcher. */
let [made, launcher]: Made[] = [];

Deno.test.beforeAll(async () => {
  made = await compileTo(folder.at("made/ping-llm"));
  launcher = made.form === "launcher"
    ? made
    : await compileTo(folder.at("launcher/ping-llm"), "--form", "launcher");
});
Deno.test.afterAll(() => folder[Symbol.dispose]());

Deno.test("compile builds a single file that runs the stages as a checkout does", async (test) => {
  using elsewhere = new TemporaryFolder();
  const machine = new Machine(elsewhere, made.path);
  const at = (name: string) => join(dirname(machine.program), name);

  await test.step("prints its version and a stage's help", async () => {
    assertEquals(await machine.done(["--version"]), version);
    assertEquals(await machine.done(["--licenses"]), `${await programLicenses()}\n`);
    assertEquals(await machine.done(["train", "--help"]), `${helpOf(STAGES.train)}\n`);
  });

  await test.step("writes the same rows as a checkout, plots them and runs kernels", async () => {
    Deno.copyFileSync(ATLAS, at("atlas results.bz2"));
    const chain = (place: string, results: string) => [
      ["import", "--input", results, "--output", `${place}/a.parquet`, "--max-reject-ratio", "1"],
      ["shard", "--input", `${place}/a.parquet`, "--output", `${place}/shards`, ...SHARDING],
      ["probe-rows", "--input", `${place}/shards`, "--output", `${place}/rows`, "--workers", "2"],
    ];
    for (const args of chain("one file", "atlas results.bz2")) await machine.done(args);
    for (const args of chain(folder.at("checkout"), ATLAS)) {
      await succeeded(runStageProcess(args));
    }
    // Manifests contain the folder's name.
    const dataIn = (folder: string) => [...stateOf(folder)].filter(([path]) => !path.includes("manifest"));
    assertEquals(dataIn(at("one file")), dataIn(folder.at("checkout")));
    await machine.done(["inspect", "one file/rows", "--plot", "rows.svg"]);
    assertMatch(Deno.readTextFileSync(at("rows.svg")), /^<svg/);
  });

  await test.step("writes jobs that start this file, or the program of --program", async () => {
    const slurm = ["slurm", "--input", "one file/a.parquet", "--output", "cluster", "--dry-run"];
    for (const program of [machine.program, "./ping llm"]) {
      const scripts = await machine.done(slurm, { program });
      assertEquals(scripts.split(`  exec '${machine.program}' `).length, 5, scripts);
    }
    const told = await machine.done([...slurm, "--program", "/opt/ping-llm"]);
    assertEquals(told.split("  exec /opt/ping-llm ").length, 5, told);
  });

  await test.step("reads standard input", async () => {
    const child = machine.spawn("import --input - --output b.parquet --max-reject-ratio 1".split(" "), {
      stdin: "piped",
    });
    const results = await Deno.open(ATLAS);
    await results.readable.pipeTo(child.stdin);
    await succeeded(outputOf(child));
    assertEquals(Deno.readFileSync(at("b.parquet")), Deno.readFileSync(at("one file/a.parquet")));
  });

  await test.step("rejects invalid commands with a one-line error", async () => {
    for (const args of [["shard", "--inptu", "x"], ["trane"]]) {
      const { code, stderr } = await machine.run(args);
      assertEquals(code, 2);
      assertMatch(stderr, /^error: Cannot [^\n]*did you mean[^\n]*\n$/);
    }
    const { code, stderr } = await machine.run(["compile", "--output", "again"]);
    assertEquals(code, 1);
    assertMatch(stderr, /^error: Cannot compile: [^\n]*; run deno task compile in a checkout\n$/);
  });

  await test.step("receives signals directly", async () => {
    const child = machine.spawn(["synth", "--rows", "1_000_000_000", "--output", "endless.parquet"]);
    // The signal goes to the started process, which must be the one that works.
    await untilAtWork(child, "its output", () => namesIn(at(".endless.parquet.work")).includes("next"));
    child.kill("SIGTERM");
    assertEquals((await outputOf(child)).code, 75);
  });
});

Deno.test("the launcher of compile protects its unpacked files from other users", async (test) => {
  const { path, hash } = launcher;
  using elsewhere = new TemporaryFolder();
  const machine = new Machine(elsewhere, path);
  await machine.done(["--version"]);
  const cacheOf = (name: string) => elsewhere.at(`${name}/ping-llm`);

  await test.step("unpacks once when several start at the same time", async () => {
    const env = { XDG_CACHE_HOME: elsewhere.at("xdg"), HOME: NOWHERE };
    const outputs = await Promise.all([1, 2].map(() => machine.done(["--version"], { env })));
    assertEquals(outputs, [version, version]);
    assertEquals(namesIn(cacheOf("xdg")), [hash]);
    assertEquals(namesIn(join(cacheOf("xdg"), hash)).sort(), ["deno", "program", "whole"]);
    assertEquals(namesIn(elsewhere.at("home/.cache/ping-llm")), [hash]);
  });

  await test.step("unpacks to the temporary folder without a home, and restores deleted files", async () => {
    const env = { HOME: NOWHERE };
    await machine.done(["--version"], { env });
    const [own, ...others] = namesIn(elsewhere.at("tmp"));
    assertEquals(others, []);
    assertEquals((Deno.statSync(elsewhere.at(`tmp/${own}`)).mode ?? 0) & 0o777, 0o700);
    const unpacked = elsewhere.at(`tmp/${own}/unpacked`);
    const lost = join(unpacked, hash, "program/tasks", basename(moduleOf(STAGES.synth).pathname));
    Deno.removeSync(lost);
    await machine.done(["synth", "--help"], { env });
    assert(isFile(lost));
    assertEquals(namesIn(unpacked), [hash]);
  });

  await test.step("unpacks again if the files changed or others could have changed them", async () => {
    const env = { XDG_CACHE_HOME: elsewhere.at("poisoned"), HOME: NOWHERE, TMPDIR: NOWHERE };
    const unpacked = join(cacheOf("poisoned"), hash);
    const stage = join(unpacked, "program/tasks", basename(moduleOf(STAGES.synth).pathname));
    const start = () => machine.done(["synth", "--help"], { env });
    const help = await start();
    const text = Deno.readTextFileSync(stage);
    /** Each check alone must detect the replaced file, even with its time set back. */
    const changes: Record<string, () => void> = {
      "a folder that all can write to": () => Deno.chmodSync(unpacked, 0o777),
      "a folder in it that the group can write to": () => Deno.chmodSync(dirname(stage), 0o775),
      "a file in it that all can write to": () => Deno.chmodSync(stage, 0o666),
      "the folder around it": () => Deno.chmodSync(cacheOf("poisoned"), 0o777),
      "a file that has its time": () => Deno.utimeSync(stage, new Date(), new Date()),
      "another program's folder under that name": () => {
        Deno.writeTextFileSync(join(unpacked, "whole"), "0123456789abcdef0123\n");
      },
    };
    if (Deno.uid() === 0) {
      changes["a file of another user"] = () => Deno.chownSync(stage, 12345, 12345);
      changes["another user's folder"] = () => Deno.chownSync(unpacked, 12345, 12345);
    }
    for (const [what, change] of Object.entries(changes)) {
      Deno.writeTextFileSync(stage, 'console.log("poisoned");');
      Deno.utimeSync(stage, 1, 1);
      change();
      assertEquals(await start(), help, what);
      assertEquals(Deno.readTextFileSync(stage), text, what);
      assertEquals(namesIn(cacheOf("poisoned")), [hash], what);
      for (const folder of [cacheOf("poisoned"), unpacked, dirname(stage)]) {
        assertEquals((Deno.statSync(folder).mode ?? 0o22) & 0o22, 0, what);
      }
    }
    const { ino } = Deno.statSync(stage);
    await start();
    assertEquals(Deno.statSync(stage).ino, ino, "unpacked again without need");
  });

  // Only root can give a folder to somebody else.
  await test.step({
    name: "does not unpack in another user's folder",
    ignore: Deno.uid() !== 0,
    async fn() {
      const env = { XDG_CACHE_HOME: elsewhere.at("foreign"), HOME: NOWHERE, TMPDIR: NOWHERE };
      await machine.done(["--version"], { env });
      Deno.chownSync(cacheOf("foreign"), 12345, 12345);
      const { code, stderr } = await machine.run(["--version"], { env });
      assertEquals(code, 1);
      assertMatch(
        stderr,
        /^error: Cannot unpack ping-llm in [^\n]*: others can write to [^\n]*; set XDG_CACHE_HOME to one\n$/,
      );
    },
  });

  await test.step("refuses a folder that others may write to", async () => {
    const env = { HOME: NOWHERE, TMPDIR: elsewhere.at("shared") };
    const [own] = namesIn(elsewhere.at("tmp"));
    Deno.mkdirSync(join(env.TMPDIR, own), { recursive: true });
    Deno.chmodSync(join(env.TMPDIR, own), 0o777);
    const { code, stderr } = await machine.run(["--version"], { env });
    assertEquals([code, stderr.split("\n").length], [1, 2]);
    assertMatch(stderr, /^error: Cannot unpack ping-llm in [^\n]*; set XDG_CACHE_HOME to one\n$/);
    assertEquals(namesIn(join(env.TMPDIR, own)), []);
  });

  await test.step("refuses to unpack a truncated or damaged file", async () => {
    const env = { HOME: NOWHERE, TMPDIR: NOWHERE, XDG_CACHE_HOME: elsewhere.at("damaged") };
    const bytes = Deno.readFileSync(machine.program);
    const program = elsewhere.at("copy");
    const tryCopy = async (copy: Uint8Array) => {
      Deno.writeFileSync(program, copy, { mode: 0o755 });
      const { code, stdout, stderr } = await machine.run(["--version"], {
        program,
        env: { ...env, HOME: "" },
      });
      assertEquals([code, stdout], [1, ""]);
      assertMatch(stderr, /^error: Cannot unpack [^\n]*; copy it again\n$/);
      assertEquals(namesIn(cacheOf("damaged")), []);
      return stderr;
    };
    assertMatch(await tryCopy(bytes.subarray(0, bytes.length >> 1)), /it has \d+ bytes, expected \d+;/);
    bytes[bytes.length - 6] ^= 1; // the checksum of the whole
    assertMatch(await tryCopy(bytes), /its bytes are damaged/);
  });
});
