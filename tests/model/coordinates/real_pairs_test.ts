import { assert } from "@std/assert";
import { Coordinates, fitCoordinates } from "../../../lib/model/coordinates/coordinates.ts";
import { logErrors, medianOf, pairsOf } from "./low_rank.ts";
import { NUM_NODES, planetLab } from "./planet_lab.ts";

const split = await planetLab(0.5);

Deno.test({
  name: "Coordinates.estimate is as far off out of fold as of pairs that were never measured (PlanetLab)",
  fn() {
    const { known, heldOut } = split;
    const fitted = fitCoordinates(known);
    const outOfFold = logErrors(known, (a, b) => fitted.estimate(a, b, fitted.foldOf(a, b)));
    const unseen = logErrors(heldOut, (a, b) => fitted.estimate(a, b));
    const seen = logErrors(known, (a, b) => fitted.estimate(a, b));
    // The folds' factorisations know three quarters of the pairs.
    for (const level of [0.25, 0.5, 0.75, 0.9]) {
      const at = (sorted: Float64Array) => sorted[Math.floor(level * sorted.length)];
      const ratio = at(outOfFold) / at(unseen);
      assert(ratio > 0.95 && ratio < 1.4, `level ${level}: ${ratio} times as far off out of fold`);
      assert(at(seen) < 0.8 * at(unseen), `level ${level}: ${at(seen)} seen, ${at(unseen)} unseen`);
    }
    assert(medianOf(unseen) < 0.06, `median |log ratio| ${medianOf(unseen)}`);
  },
});

Deno.test({
  name: "Coordinates.estimate says which estimates are far off (PlanetLab)",
  fn() {
    const { known, heldOut } = split;
    const fitted = fitCoordinates(known);
    const expected = Float64Array.from(heldOut.rttMs, (_, i) => errorOf(fitted, heldOut.a[i], heldOut.b[i]))
      .sort();
    const [low, high] = [0.2, 0.8].map((level) => expected[Math.floor(level * expected.length)]);
    const among = (isWanted: (error: number) => boolean) =>
      medianOf(
        logErrors(heldOut, (a, b) => isWanted(errorOf(fitted, a, b)) ? fitted.estimate(a, b) : undefined),
      );
    const [sure, unsure] = [among((error) => error < low), among((error) => error > high)];
    assert(unsure > 3 * sure, `${unsure} where it may be far off, ${sure} where it may not`);
  },
});

function errorOf(fitted: Coordinates, a: number, b: number): number {
  return fitted.estimate(a, b)?.error ?? NaN;
}

Deno.test({
  name:
    "Coordinates.locate places left-out nodes better than their biases would, from 10 pairs each (PlanetLab)",
  fn() {
    const { known, heldOut } = split;
    const isNew = (node: number) => node < 20;
    const rows = (isWanted: (a: number, b: number) => boolean, of = known) =>
      [...of.a].map((a, i) => [a, of.b[i], of.rttMs[i]] as const).filter(([a, b]) => isWanted(a, b));
    const fitted = fitCoordinates(pairsOf(NUM_NODES, rows((a, b) => !isNew(a) && !isNew(b))));
    const errors: Record<"located" | "bias", number[]> = { located: [], bias: [] };
    for (let node = 0; node < 20; node++) {
      const toOld = (of: typeof known) =>
        rows((a, b) => (a === node && !isNew(b)) || (b === node && !isNew(a)), of)
          .map(([a, b, rttMs]) => ({ node: a === node ? b : a, rttMs }));
      const measured = toOld(known).slice(0, 10);
      const place = fitted.locate(measured);
      // With vectors of length 0 a node is its bias alone.
      const biases = places(fitted, place);
      for (const { node: other, rttMs } of toOld(heldOut)) {
        const off = (of: typeof place) =>
          Math.abs(Math.log((fitted.estimate(of, other)?.rttMs ?? NaN) / rttMs));
        errors.located.push(off(place));
        errors.bias.push(off(biases));
      }
    }
    const [located, bias] = [errors.located, errors.bias].map((list) =>
      medianOf(Float64Array.from(list).sort())
    );
    assert(located < 0.8 * bias, `median |log ratio| ${located}, of the biases alone ${bias}`);
  },
});

/** The same place, of which only the biases are left. */
function places(fitted: Coordinates, place: ReturnType<Coordinates["locate"]>): typeof place {
  const width = fitted.size.rank + 1;
  return {
    places: place.places.map((found) => ({
      ...found,
      vectors: found.vectors.map((value, i) => i % width === 0 ? value : 0),
    })),
  };
}
