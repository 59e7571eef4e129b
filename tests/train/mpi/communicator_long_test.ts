import { assert, assertEquals, assertLess, assertMatch, assertThrows } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { UserError } from "../../../lib/base/errors.ts";
import { launchOf } from "../../../lib/train/mpi/launch.ts";
import { runDeno, succeeded } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { launchers, numbersOf } from "./launchers.ts";

const CHILD = fromFileUrl(new URL("./communicator_child.ts", import.meta.url));

interface ChildOutput {
  rank: number;
  size: number;
  sums: Record<string, number[]>;
  inOrder: number[][];
  told: { text: string; rank: number };
  isNaNThere: boolean;
  numNaN: number;
  numSentBytes: number;
}

/** The root mean square error, relative to the root mean square of the sums. */
function errorOf(sums: number[], wanted: number[]): number {
  const squares = (values: number[]) => values.reduce((sum, value) => sum + value * value, 0);
  return Math.sqrt(squares(sums.map((value, i) => value - wanted[i])) / squares(wanted));
}

for (const launcher of launchers()) {
  for (const numRanks of [2, 3]) {
    Deno.test(`${numRanks} ranks of ${launcher.name} sum, broadcast and wait`, async () => {
      const { flags = [], ...options } = launcher.options(numRanks);
      using folder = new TemporaryFolder();
      const args = ["--allow-read", "--allow-write", ...flags, CHILD, folder.path];
      await succeeded(runDeno(args, options));
      const outputs = Array.from(
        { length: numRanks },
        (_, rank): ChildOutput => JSON.parse(Deno.readTextFileSync(folder.at(`rank-${rank}.json`))),
      );
      assertEquals(outputs.map(({ rank }) => rank), Array.from({ length: numRanks }, (_, rank) => rank));
      const [{ sums }] = outputs;
      const own = outputs.map(({ rank }) => numbersOf(rank, sums.f32.length));
      const wanted = sums.f32.map((_, i) => own.reduce((sum, values) => sum + values[i], 0));
      assertLess(errorOf(sums.f32, wanted), 1e-7);
      assertLess(errorOf(sums.f16, wanted), 5e-4);
      assertLess(errorOf(sums.i8, wanted), 1e-2);
      assertLess(errorOf(sums["i8 with errors kept"], wanted), errorOf(sums.i8, wanted) / 10);
      const total = numRanks * (numRanks + 1) / 2;
      for (const output of outputs) {
        // To the last bit.
        assertEquals(output.sums, sums);
        assertEquals(output.inOrder, [[total], [2 * total], [3 * total]]);
        assertEquals(output.told, { text: "Zürich", rank: 0 });
        assertEquals(output.isNaNThere, true);
        assertLess(output.numNaN, 1025);
        assert(output.numSentBytes > 4 * sums.f32.length, String(output.numSentBytes));
      }
    });
  }

  Deno.test(`an MPI library that does not match ${launcher.name} is refused`, async () => {
    const { flags = [], ...options } = launcher.options(2);
    const other = { ...options.env, [launcher.sizeVariable]: "3", [launcher.rankVariable]: "0" };
    const { code, stderr } = await runDeno(["--allow-read", ...flags, CHILD], { env: other });
    assertEquals(code, 1);
    assertMatch(
      stderr,
      new RegExp(`Cannot train together: ${launcher.sizeVariable} is 3, but .* finds 1 rank; use the mpirun`),
    );
  });
}

Deno.test("launchOf() reads ranks from the launchers' environment variables", () => {
  const of = (env: Record<string, string>) => launchOf((name) => env[name]);
  assertEquals(of({}), undefined);
  assertEquals(of({ PMI_SIZE: "1", PMI_RANK: "0" }), undefined);
  const ofMpirun = of({ OMPI_COMM_WORLD_SIZE: "4", OMPI_COMM_WORLD_RANK: "3", SLURM_STEP_NUM_TASKS: "1" });
  assertEquals([ofMpirun?.numRanks, ofMpirun?.rank, ofMpirun?.mpi], [4, 3, "Open MPI"]);
  const inStep = { SLURM_STEP_NUM_TASKS: "8", SLURM_PROCID: "5" };
  assertEquals([of(inStep)?.numRanks, of(inStep)?.rank, of(inStep)?.mpi], [8, 5, undefined]);
  assertEquals(of({ ...inStep, PMIX_RANK: "5" })?.mpi, "Open MPI");
  assertEquals(of({ ...inStep, PMI_FD: "9" })?.mpi, "MPICH");
  assertThrows(
    () => of({ PMI_SIZE: "two", PMI_RANK: "0" }),
    UserError,
    "PMI_SIZE is two, expected a number",
  );
});
