/**
 * One of several ranks: writes what it received to a folder as JSON for communicator_long_test.ts. @module
 */
import { Communicator } from "../../../lib/train/mpi/communicator.ts";
import { CompressedSum } from "../../../lib/train/mpi/compressed_sum.ts";
import { launchOf } from "../../../lib/train/mpi/launch.ts";
import { numbersOf } from "./launchers.ts";

const launch = launchOf((name) => Deno.env.get(name));
if (!launch) throw new Error("this is for mpirun");
const ranks = Communicator.open(launch);
const { rank, size } = ranks;
const length = 5003;
const own = numbersOf(rank, length);
const sums: Record<string, number[]> = {
  f32: [...await ranks.sum(own, new Float32Array(length))],
};
for (const format of ["f16", "i8"] as const) {
  const out = new Float32Array(length);
  await new CompressedSum(ranks, 2 * length, { format }).sum(own, out);
  sums[format] = [...out];
}
// The mean over many rounds of the same numbers, with rounding errors carried over.
const kept = new CompressedSum(ranks, length, { format: "i8", keepsErrors: true });
const total = new Float64Array(length);
const rounds = 50;
for (let round = 0; round < rounds; round++) {
  const out = new Float32Array(length);
  await kept.sum(own, out);
  out.forEach((value, i) => total[i] += value / rounds);
}
sums["i8 with errors kept"] = [...total];
const holed = own.slice();
if (rank === size - 1) holed[3000] = NaN;
const hole = new Float32Array(length);
await new CompressedSum(ranks, length, { format: "f16" }).sum(holed, hole);
const inOrder = await Promise.all([1, 2, 3].map((k) => ranks.sumOf(k * (rank + 1))));
const told = await ranks.fromFirst(() => ({ text: "Zürich", rank }));
const numSentBytes = ranks.numSentBytes;
await ranks.close();
const numNaN = hole.filter(Number.isNaN).length;
const heard = { rank, size, sums, inOrder, told, isNaNThere: Number.isNaN(hole[3000]), numNaN, numSentBytes };
Deno.writeTextFileSync(`${Deno.args[0]}/rank-${rank}.json`, JSON.stringify(heard));
