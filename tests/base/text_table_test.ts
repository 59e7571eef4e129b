import { assertEquals } from "@std/assert";
import { cutToWidth, formatTable } from "../../lib/base/text_table.ts";

Deno.test("formatTable() aligns texts by the columns they take", () => {
  const rows = [["place", "median"], ["東京", "5 ms"], ["Me\u0301xico", "12 ms"], ["Köln"]];
  assertEquals(formatTable(rows, { left: [0] }).split("\n"), [
    "place   median",
    "東京      5 ms",
    "Me\u0301xico   12 ms",
    "Köln",
  ]);
});

Deno.test("cutToWidth() cuts between the characters that a reader sees", () => {
  assertEquals(["東京都", "a東京", "Me\u0301xico", ""].map((text) => cutToWidth(text, 2)), [
    "東",
    "a",
    "Me\u0301",
    "",
  ]);
});
