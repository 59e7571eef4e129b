import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import { distributionOf, posterior } from "../../../lib/model/coordinates/posterior.ts";
import { dot } from "../../../lib/model/coordinates/ridge.ts";

const random = new RandomStream(1, "test/posterior");
const vector = () => Float64Array.from({ length: 4 }, () => random.normal());
const prior = distributionOf(Array.from({ length: 50 }, vector));
const truth = vector();
const known = (features: Float64Array, error = 0) => ({
  features,
  value: dot(features, truth) + error,
  noise: 1e-2,
});
const errorsOf = (mean: Float64Array) => truth.map((part, i) => Math.abs(part - mean[i]));

Deno.test("posterior() is the prior without RTTs, and narrows to the node with many, whatever their order", () => {
  const none = posterior(prior, []);
  assertEquals([none.mean, none.covariance], [prior.mean, prior.covariance]);
  const values = Array.from({ length: 40 }, () => known(vector()));
  const [found, reversed] = [posterior(prior, values), posterior(prior, values.toReversed())];
  errorsOf(found.mean).forEach((error) => assert(error < 0.05, `${error}`));
  found.mean.forEach((part, i) => assertAlmostEquals(part, reversed.mean[i], 1e-9));
  assert(found.covariance[0] < prior.covariance[0] / 50);
});

Deno.test("posterior() hardly moves by one RTT that contradicts others", () => {
  const values = Array.from({ length: 20 }, () => known(vector()));
  const wrong = [...values, known(vector(), 30)];
  errorsOf(posterior(prior, wrong).mean).forEach((error) => assert(error < 0.1, `${error}`));
});

Deno.test("posterior() predicts each RTT as it would without it", () => {
  const values = Array.from({ length: 6 }, () => known(vector()));
  const { predicted } = posterior(prior, values);
  values.forEach(({ features, noise }, i) => {
    const { mean, covariance } = posterior(prior, values.filter((_, j) => j !== i));
    const spread = Math.sqrt(noise + dot(features, features) * Math.max(...covariance.map(Math.abs)));
    assert(Math.abs(predicted[i].value - dot(features, mean)) < spread);
  });
});
