import { fromFileUrl } from "@std/path";
import { assert, assertEquals, assertGreater, assertNotEquals, assertStringIncludes } from "@std/assert";
import { faultOfXml } from "../../base/report/xml.ts";
import type { AnswerOf } from "../../../lib/query/questions/questions.ts";
import { runStageProcess } from "../../cli/process.ts";
import { withRowCheckpoint } from "../adapt/row_checkpoint.ts";
import { tinyPlacedModel, tinyRowModel } from "../adapt/tiny_rows.ts";

const SRC = "192.0.2.1";

type Place = AnswerOf<"map">["places"][number];

Deno.test("query map writes the same places to SVG, GeoJSON and CSV, from an address and from a country", async () =>
  withRowCheckpoint(async (at) => {
    const map = async (...options: string[]) =>
      await runStageProcess(["query", "map", "--checkpoint", at("run"), ...options]);
    const { code, stdout, stderr } = await map("--src", SRC, "--output", at("m.csv"), "--json");
    assertEquals(code, 0, stderr);
    const places = JSON.parse(stdout).num_places;
    const answer = JSON.parse((await map("--src", SRC, "--json")).stdout);
    const nearest = answer.places.toSorted((a: Place, b: Place) => a.median_ms - b.median_ms).slice(0, 5);
    const lines = Deno.readTextFileSync(at("m.csv")).trimEnd().split("\n");
    assertEquals(lines.length, places + 1);
    assertGreater(places, 40);
    const json = await map("--src", SRC, "--output", at("m.geojson"));
    assertEquals(json.code, 0, json.stderr);
    const { features } = JSON.parse(Deno.readTextFileSync(at("m.geojson")));
    assertEquals(features.length, places);
    assertStringIncludes(json.stdout, nearest[0].name);
    const context = { src: SRC, dst: "198.51.100.7", time: "2025-05-31T23:00:00Z", rtt: 33 };
    Deno.writeTextFileSync(at("c.jsonl"), `${JSON.stringify(context)}\n`);
    const cities = fromFileUrl(new URL("../../data/places/city.csv", import.meta.url));
    const asked = ["--src", SRC, "--time", "2025-06-01", "--geo", cities, "--no-pool"];
    await map(...asked, "--output", at("plain.csv"));
    const after = await map(...asked, "--context", at("c.jsonl"), "--output", at("after.csv"), "--json");
    assertEquals(after.code, 0, after.stderr);
    const textOf = (name: string) => Deno.readTextFileSync(at(name));
    assertEquals(textOf("plain.csv").split("\n").length, textOf("after.csv").split("\n").length);
    assertNotEquals(textOf("plain.csv"), textOf("after.csv"));
    const options = ["--src", nearest[0].country, "--layer", "interval", "--time", "2025-06-01"];
    const svg = await map(...options, "--output", at("m.svg"));
    assertEquals(svg.code, 0, svg.stderr);
    const text = Deno.readTextFileSync(at("m.svg"));
    assertEquals(faultOfXml(text), undefined);
    for (const each of ["Width of the interval", "Natural Earth", "DB-IP"]) assertStringIncludes(text, each);
    // Each country is in the picture, with its numbers as a tooltip.
    const countries = features.filter(({ properties }: { properties: Place }) =>
      properties.cell_degrees === null
    );
    assertEquals(text.match(/class="country"/g)?.length, countries.length);
  }, await tinyPlacedModel()));

Deno.test("query map refuses other file types and models without places", () =>
  withRowCheckpoint(async (at) => {
    for (
      const [options, code, message] of [
        [
          ["--src", SRC, "--output", at("m.png")],
          2,
          "expected a name that ends with .svg, .geojson, .json or .csv",
        ],
        [["--src", SRC, "--output", at("m.svg")], 1, "use one trained with --geo"],
      ] as const
    ) {
      const found = await runStageProcess(["query", "map", "--checkpoint", at("run"), ...options]);
      assertEquals(found.code, code, found.stderr);
      assertStringIncludes(found.stderr, message);
      assert(!found.stderr.includes("    at "), found.stderr);
    }
    assertEquals([...Deno.readDirSync(at("."))].map(({ name }) => name), ["run"]);
  }, tinyRowModel()));
