import { assert, assertEquals, assertRejects } from "@std/assert";
import { httpApi } from "../../../lib/serve/page/open_api.ts";
import { withCheckpoint } from "../../query/tiny_checkpoint.ts";
import { PAIR, TestServer } from "../test_server.ts";

Deno.test("httpApi() asks a server each operation, and throws what it says is wrong", async () => {
  await withCheckpoint(async (_, checkpoint) => {
    const server = await TestServer.start(checkpoint);
    const { url } = server;
    const api = httpApi(url);
    {
      await using _server = server;
      const { quantiles_ms, step } = await api.rtt({ ...PAIR, quantiles: [0.5] });
      assertEquals([Object.keys(quantiles_ms), step], [["0.5"], 3]);
      const wrong = { ...PAIR, dst: "2001:db8::1" };
      const [good, bad] = await api.rttBatch([{ ...PAIR, quantiles: [0.5] }, wrong]);
      assert("quantiles_ms" in good && good.quantiles_ms["0.5"] === quantiles_ms["0.5"]);
      assert("error" in bad && bad.error.includes("two addresses of one version"));
      const measurement = { ...PAIR, time: 1_750_000_000, rtt: 12.5 };
      const scores = await api.score([measurement, { ...measurement, rtt: null }]);
      assert(scores.every((score) => "p_value" in score && score.p_value >= 0 && score.p_value <= 1));
      const question = {
        src: PAIR.src,
        rtt: [20, 20] as [number, number],
        prefix_length: 2,
        max_expansions: 8,
      };
      assertEquals((await api.destinations(question)).prefix_length, 2);
      assertEquals((await api.model()).step, 3);
      assertEquals((await api.places({ q: PAIR.src })).places.map(({ text }) => text), [PAIR.src]);

      await assertRejects(() => api.rtt(wrong), Error, "expected two addresses of one version");
      const gone = AbortSignal.abort();
      await assertRejects(() => api.rtt(PAIR, gone), DOMException, "aborted");
    }
    await assertRejects(() => api.model(), Error, `Cannot reach the server at ${new URL(url).host}`);
  }, { scale: 12 });
});
