import { assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { figureOf, pageOf, tableOf } from "../../lib/plot/page.ts";
import { renderSvg, VEGA_LITE_SCHEMA } from "../../lib/plot/svg.ts";
import { ACCENT, PAGE_CONFIG } from "../../lib/plot/theme.ts";
import { TemporaryFolder } from "../files/temporary_folder.ts";
import { hasBrowser, layoutFaults, TestBrowser } from "./browser.ts";

/** A bar whose end its clipped frame cuts off. */
async function barOf(name: string): Promise<string> {
  const svg = await renderSvg({
    $schema: VEGA_LITE_SCHEMA,
    config: PAGE_CONFIG,
    width: 200,
    height: 40,
    data: { values: [{ value: 30 }] },
    mark: { type: "bar", clip: true, color: ACCENT },
    encoding: { x: { field: "value", type: "quantitative", scale: { domain: [0, 20] } } },
  });
  return figureOf(svg, { name, caption: "A <bar>" });
}

Deno.test("figureOf() gives the clips of each picture names of their own", async () => {
  const [first, second] = [await barOf("first"), await barOf("second")];
  const idsOf = (html: string) => [...html.matchAll(/<clipPath id="([^"]+)"/g)].map(([, id]) => id);
  assertEquals(idsOf(first).length, 1);
  assertStringIncludes(first, `url(#${idsOf(first)[0]})`);
  assertNotEquals(idsOf(first), idsOf(second));
  assertStringIncludes(first, "<figcaption>A &lt;bar&gt;</figcaption>");
});

Deno.test({
  name: "pageOf() makes a page whose colours follow the reader's system, in a browser",
  ignore: !hasBrowser(),
  async fn() {
    using folder = new TemporaryFolder();
    const path = folder.at("page.html");
    const table = tableOf(["name", "value"], [["x", "1"]], "compared");
    Deno.writeTextFileSync(path, pageOf("A page", [table, await barOf("bar")]));
    await using browser = await TestBrowser.start();
    const colours: unknown[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      const { page, complaints } = await browser.open(path, { width: 1000, colorScheme });
      assertEquals(complaints, []);
      assertEquals(await layoutFaults(page), []);
      colours.push(
        await page.evaluate(
          `[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector(".mark-rect path")).fill]`,
        ),
      );
    }
    assertEquals(colours, [["rgb(255, 255, 255)", "rgb(0, 103, 168)"], [
      "rgb(21, 24, 28)",
      "rgb(99, 184, 238)",
    ]]);
    const printed = await browser.open(path, { width: 700, colorScheme: "dark", isPrint: true });
    assertEquals(
      await printed.page.evaluate("getComputedStyle(document.body).backgroundColor"),
      "rgb(255, 255, 255)",
    );
  },
});

Deno.test({
  name: "layoutFaults() finds what is too wide, empty pictures, and texts over each other",
  ignore: !hasBrowser(),
  async fn() {
    using folder = new TemporaryFolder();
    const path = folder.at("page.html");
    const texts =
      `<text x="5" y="20">one</text><text x="9" y="20">two</text><text x="900" y="20">three</text>`;
    const svg = `<svg width="300" height="30">${texts}</svg>`;
    Deno.writeTextFileSync(
      path,
      pageOf("A page", [figureOf(svg, { name: "bad", caption: "" }), `<div style="width:3000px">wide</div>`]),
    );
    await using browser = await TestBrowser.start();
    const { page } = await browser.open(path, { width: 1000, colorScheme: "light" });
    const faults = (await layoutFaults(page)).join("\n");
    for (const part of ["px wide", "DIV ends at", "no marks", "three lies outside", "one lies over two"]) {
      assertStringIncludes(faults, part);
    }
  },
});
