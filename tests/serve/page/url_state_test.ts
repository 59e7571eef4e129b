import { assert, assertEquals } from "@std/assert";
import {
  formatHash,
  packText,
  type PageState,
  parseHash,
  unpackText,
} from "../../../lib/serve/page/url_state.ts";
import { questionTimeS } from "../../../lib/serve/page/texts.ts";

Deno.test("formatHash() and parseHash() are each other's inverse, and addresses stay readable", async () => {
  const states: PageState[] = [
    { part: "model", fields: {} },
    { part: "ask", fields: { src: "10.2.0.0/16", dst: "2001:db8::1", time: "2025-06-15T12:00" } },
    {
      part: "compare",
      fields: { sources: "192.0.2.1\n192.0.2.2", destinations: "a & b = c#%", cell: "1,0" },
    },
    { part: "pings", fields: { src: "192.0.2.1", pings: "PING ü (1.1.1.1)\n64 bytes +/=?" } },
    { part: "fits", fields: { src: "192.0.2.1", time: "any", low: "20", high: "25.5" } },
  ];
  for (const state of states) {
    const { hash, isWhole } = await formatHash(state);
    assertEquals(isWhole, true);
    assertEquals(await parseHash(hash), state);
    assertEquals(new URL(hash, "http://localhost/").hash, hash, "an address keeps it as it is");
  }
  const { hash } = await formatHash(states[1]);
  assertEquals(hash, "#ask?src=10.2.0.0/16&dst=2001:db8::1&time=2025-06-15T12:00");
});

Deno.test("formatHash() leaves out pings that are too long, and says so", async () => {
  const words = Array.from({ length: 20_000 }, (_, i) => Math.sin(i).toString(36)).join(" ");
  const { hash, isWhole } = await formatHash({ part: "pings", fields: { src: "192.0.2.1", pings: words } });
  assertEquals([hash, isWhole], ["#pings?src=192.0.2.1", false]);
  const repeated = `64 bytes from 198.51.100.7: icmp_seq=1 ttl=57 time=12.3 ms\n`.repeat(2000);
  assert((await formatHash({ part: "pings", fields: { pings: repeated } })).isWhole);
});

Deno.test("parseHash() makes something of every fragment", async () => {
  assertEquals(await parseHash(""), { part: "ask", fields: {} });
  assertEquals(await parseHash("#nothing?what=1&src="), { part: "ask", fields: {} });
  assertEquals(await parseHash("#pings?pings=!!!&dst=a?b"), { part: "pings", fields: { dst: "a?b" } });
  const packed = await packText("some pings");
  assertEquals(await unpackText(packed), "some pings");
  assertEquals(await unpackText(packed.slice(3)), undefined);
});

Deno.test("questionTimeS() reads now, any time and times in UTC", () => {
  const nowMs = Date.UTC(2025, 5, 15, 12, 0, 59);
  assertEquals(questionTimeS("", nowMs), nowMs / 1000 - 59);
  assertEquals(questionTimeS("any", nowMs), null);
  assertEquals(questionTimeS("2025-06-15T12:30", nowMs), Date.UTC(2025, 5, 15, 12, 30) / 1000);
  assert(typeof questionTimeS("soon", nowMs) === "object");
});
