import { assert, assertEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import { compareSurprise, describeSurprise, readCampaign } from "../../../lib/cli/bench/surprise.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { writeRows } from "../../query/score/sample_rows.ts";
import { withTinyModel } from "../../query/tiny_model.ts";

/** Rows of three calm pairs, one per minute. */
function calmRows(firstMinute: number, numRows: number) {
  const random = new RandomStream(firstMinute, "tests/bench surprise");
  const rows = Array.from(
    { length: 3 * numRows },
    (_, i) => ({ dst: i % 3, minute: firstMinute + Math.floor(i / 3) }),
  );
  return {
    numRows: rows.length,
    eventTimeUs: Float64Array.from(rows, ({ minute }) => (1_700_000_000 + 60 * minute) * 1e6),
    srcAddr: rows.map(() => "192.0.2.1"),
    dstAddr: rows.map(({ dst }) => `198.51.100.${dst}`),
    ipVersion: Uint8Array.from(rows, () => 4),
    rttMs: Float64Array.from(rows, ({ dst }) => 100 + 10 * dst + random.normal()),
  };
}

Deno.test("bench surprise plants events in the rows after the history, and counts what each method finds", () =>
  withTinyModel(async (model) => {
    using folder = new TemporaryFolder();
    writeRows(folder.at("history.parquet"), calmRows(0, 60));
    writeRows(folder.at("input.parquet"), calmRows(60, 300));
    const campaign = await readCampaign([folder.at("history.parquet")], [folder.at("input.parquet")]);
    assertEquals([campaign.rows.length, campaign.normal.length, campaign.usual.size], [1080, 900, 3]);
    const options = { seeds: [1, 2, 3, 4, 5, 6], oneIn: [100], context: 4 };
    const compared = await compareSurprise(model, campaign, options);
    assertEquals(compared.rows, 900);
    assert(compared.numEvents.every((count) => count > 0), `${compared.numEvents}`);
    const [{ found }] = compared.rates;
    const of = (method: string) =>
      Object.fromEntries(
        found.filter((each) => each.method === method)[0].events.map(
          ({ name, inAll }) => [name, inAll],
        ),
      );
    assertEquals(of("median + k interquartile ranges"), {
      "outage": 0,
      "shift of 3": 1,
      "shift of 10": 1,
      "shift of 30": 1,
      "spike of 10": 1,
      "spike of 30": 1,
    });
    const watch = of("watch");
    assertEquals([watch["outage"], watch["shift of 10"], watch["shift of 30"]], [1, 1, 1]);
    for (const { limit, corrected } of compared.below) assert(Math.abs(corrected - limit) < 0.15, `${limit}`);
    assert(describeSurprise(compared).startsWith("One false alarm in 100 of 900 normal rows:\n"));
    assertEquals(await compareSurprise(model, campaign, options), compared);
  }));
