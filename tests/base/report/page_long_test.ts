import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Figure, pageOf, tableOf } from "../../../lib/base/report/page.ts";
import { RANKED } from "../../../lib/base/report/theme.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { hasBrowser, layoutFaults, TestBrowser } from "./browser.ts";

/** A bar that extends beyond the clipped frame. */
function barOf(name: string): Figure {
  const chart = {
    width: 200,
    height: 40,
    data: { values: [{ value: 30 }] },
    mark: { type: "bar", clip: true, color: RANKED[0] },
    encoding: { x: { field: "value", type: "quantitative", scale: { domain: [0, 20] } } },
  };
  return { name, caption: "A <bar>", chart };
}

Deno.test("pageOf() assigns unique ids to the clip paths of each picture", async () => {
  const html = await pageOf("A page", [barOf("first"), { beside: [barOf("second")] }]);
  const ids = [...html.matchAll(/<clipPath id="([^"]+)"/g)].map(([, id]) => id);
  assertEquals([ids.length, new Set(ids).size], [2, 2]);
  for (const id of ids) assertStringIncludes(html, `url(#${id})`);
  assertStringIncludes(html, "<figcaption>A &lt;bar&gt;</figcaption>");
});

Deno.test("tableOf() escapes texts and notes", () => {
  const table = tableOf(["<h>"], [[{ text: "<t>", note: "<n>", kind: "loses" }]]);
  for (
    const part of ["<th>&lt;h&gt;</th>", '<span class="loses">&lt;t&gt;</span>', "<small>&lt;n&gt;</small>"]
  ) {
    assertStringIncludes(table, part);
  }
});

Deno.test({
  name: "pageOf() returns a page whose colours follow the reader's system in a browser",
  ignore: !hasBrowser(),
  async fn() {
    using folder = new TemporaryFolder();
    const path = folder.at("page.html");
    const table = tableOf(["name", "value"], [["x", "1"]], "compared");
    Deno.writeTextFileSync(path, await pageOf("A page", [table, barOf("bar")]));
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
  name: "layoutFaults() finds elements that are too wide, empty pictures and overlapping texts",
  ignore: !hasBrowser(),
  async fn() {
    using folder = new TemporaryFolder();
    const path = folder.at("page.html");
    const texts =
      `<text x="5" y="20">one</text><text x="9" y="20">two</text><text x="900" y="20">three</text>`;
    const svg = `<svg width="300" height="30">${texts}</svg>`;
    Deno.writeTextFileSync(
      path,
      await pageOf("A page", [`<figure id="bad">${svg}</figure>`, `<div style="width:3000px">wide</div>`]),
    );
    await using browser = await TestBrowser.start();
    const { page } = await browser.open(path, { width: 1000, colorScheme: "light" });
    const faults = (await layoutFaults(page)).join("\n");
    for (const part of ["px wide", "DIV ends at", "no marks", "three lies outside", "one lies over two"]) {
      assertStringIncludes(faults, part);
    }
  },
});
