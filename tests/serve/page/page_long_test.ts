import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import type { Page } from "playwright-core";
import { formatMs } from "../../../lib/base/text.ts";
import { mapPoint, WORLD } from "../../../lib/base/report/world_map.ts";
import { packText, parseHash } from "../../../lib/serve/page/url_state.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { fitPool } from "../../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../../lib/model/pool/pool_tables.ts";
import { loadCheckpoint } from "../../../lib/train/checkpoint.ts";
import { writePool } from "../../../lib/train/checkpoint_files.ts";
import { withRowCheckpoint } from "../../query/adapt/row_checkpoint.ts";
import { KNOWN, NEW_ADDRESS, tinyLocatedModel, tinyPlacedModel } from "../../query/adapt/tiny_rows.ts";
import { withCheckpoint } from "../../query/tiny_checkpoint.ts";
import { hasBrowser, TestBrowser } from "../../base/report/browser.ts";
import { until } from "../../until.ts";
import { TestServer } from "../test_server.ts";

/** Logs violations of the page's policy to the console, which tests read. */
const WATCH =
  `addEventListener("securitypolicyviolation", (event) => console.error("CSP: " + event.violatedDirective));`;
/** Texts that would run as scripts if a page inserted them into its HTML. */
const HOSTILE = [
  `<img src=x onerror="window.ran=1">`,
  `"><script>window.ran=1</script>`,
  `javascript:window.ran=1`,
  `<svg onload=window.ran=1>`,
];

const [SRC, DST] = ["192.0.2.1", "198.51.100.7"];
const TIME = "2025-06-15T12:00";
const PINGS = `PING ${DST} (${DST}) 56(84) bytes of data.
64 bytes from ${DST}: icmp_seq=1 ttl=57 time=12.3 ms
64 bytes from ${DST}: icmp_seq=3 ttl=57 time=12.1 ms
what is this`;

/** A question for each part. */
const HASHES = {
  ask: `#ask?src=${SRC}&dst=${DST}&time=${TIME}`,
  compare: `#compare?sources=${SRC}%0A192.0.2.2&destinations=${DST}%0A203.0.113.9&cell=1,0&time=${TIME}`,
  pings: `#pings?src=${SRC}&time=${TIME}&pings=${await packText(PINGS)}`,
  fits: `#fits?src=${SRC}&low=20&high=25&time=${TIME}`,
  model: "#model",
};

interface Opened {
  page: Page;
  complaints: string[];
  url: string;
}

type Open = (hash: string, options?: { width?: number; scheme?: "light" | "dark" }) => Promise<Opened>;

function opener({ browser }: TestBrowser, server: TestServer, height = 800): Open {
  return async (hash, { width = 1280, scheme = "light" } = {}) => {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
    await page.addInitScript(WATCH);
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith(server.url)) complaints.push(`asks for ${request.url()}`);
    });
    await page.goto(`${server.url}${hash}`);
    await settled(page);
    return { page, complaints, url: server.url };
  };
}

/** Tests of the page with a small model. They share a server and a browser. */
const PAGE_TESTS: [name: string, test: (t: Deno.TestContext, open: Open) => Promise<void>][] = [];
function pageTest(...test: typeof PAGE_TESTS[number]): void {
  PAGE_TESTS.push(test);
}

const LOOKS = [["dark", 360], ["light", 360], ["light", 1280], ["dark", 1280]] as const;

/** Opens a page in a narrow window, and checks its appearance in every theme and width. */
async function lookedAt(
  open: Open,
  hash: string,
  act: (page: Page) => Promise<void> = () => Promise.resolve(),
): Promise<Opened> {
  const [[scheme, width]] = LOOKS;
  const opened = await open(hash, { scheme, width });
  const { page, complaints } = opened;
  await act(page);
  await page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)");
  for (const [colorScheme, width] of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    await settled(page);
    assertEquals(await looksFaults(page), [], `${hash}, ${colorScheme}, ${width} px`);
  }
  assertEquals(complaints, []);
  return opened;
}

async function shownText(page: Page): Promise<string> {
  return await page.locator("main").innerText();
}

pageTest(
  "every part of the page works in both themes and narrow windows, with enough contrast",
  async (t, open) => {
    const wanted: Record<keyof typeof HASHES, RegExp[]> = {
      ask: [
        /Share of the replies per .*P\(RTT ≤ x\)/s,
        /Median/,
        /Likeliest/,
        /No reply/,
        /Quantiles of the RTT/,
        /guess\s.*Neither address is in the training data/s,
        /These hours as a table/,
      ],
      compare: [/from \\ to/, /192\.0\.2\.2 to 198\.51\.100\.7/, /lost/, /guess/],
      pings: [
        /Output of ping: 3 pings, 1 without a reply/,
        /line 4: unknown line/,
        /before\s+after/,
        /of 3 (is|are) unusual|None of 3 is unusual/,
        /2025-06-15 12:00 UTC/,
        /p-value/,
      ],
      fits: [/Destinations at 20\.0–25\.0 ms/, /Basis/, /guess/, /all others/],
      model: [
        /^(?!.*SHA-256.*Training).*Parameters.*SHA-256/s,
        /Validation losses as a table/,
        /run deno task eval/,
        /openapi\.json/,
      ],
    };
    for (const [part, hash] of Object.entries(HASHES) as [keyof typeof HASHES, string][]) {
      await t.step(part, async () => {
        const { page } = await lookedAt(open, hash);
        const text = await shownText(page);
        for (const each of wanted[part]) assertMatch(text, each);
        await page.close();
      });
    }
  },
);

pageTest(
  "the page's address holds its whole state when reloading, copying and going back",
  async (t, open) => {
    await t.step(
      "the first visit shows examples, and a clicked one is listed as asked before",
      async () => {
        const { page, complaints } = await open("");
        const text = await shownText(page);
        for (
          const each of [/Example: \S+ → \S+/, /Median/, /Trained on|Synthetic/]
        ) {
          assertMatch(text, each);
        }
        assertEquals(new URL(page.url()).hash, "", "the example is no question of the reader");
        assertEquals(await page.evaluate("localStorage.length"), 0);
        const example = page.getByRole("list", { name: "For example:" }).getByRole("button").first();
        const [src, dst] = (await example.innerText()).split(" → ");
        await example.click();
        await page.getByRole("heading", { name: `${src} to ${dst}` }).waitFor();
        await settled(page);
        assertEquals((await parseHash(new URL(page.url()).hash)).fields, { src, dst });
        await page.goto("about:blank");
        await page.goBack();
        await page.goto(new URL("#ask", page.url()).href);
        await page.reload();
        await settled(page);
        const before = page.getByRole("list", { name: "Recent questions:" }).getByRole("button");
        assertEquals(await before.allInnerTexts(), [`${src} → ${dst}`]);
        assertEquals(complaints, []);
        await page.close();
      },
    );

    await t.step("a reloaded page shows the same, and its copied link holds the same state", async () => {
      for (const hash of Object.values(HASHES)) {
        const { page, url } = await open(hash);
        const before = await shownText(page);
        await page.reload();
        await settled(page);
        assertEquals(await shownText(page), before);
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
        await page.getByRole("button", { name: "Copy link" }).click();
        await page.getByText("Link copied.").waitFor();
        const link = await page.evaluate("navigator.clipboard.readText()");
        const { origin, pathname, hash: copied } = new URL(String(link));
        assertEquals(`${origin}${pathname}`, url);
        assertEquals(await parseHash(copied), await parseHash(hash));
        await page.close();
      }
    });

    await t.step("back and forward go through questions and parts", async () => {
      const { page, complaints } = await open("#ask");
      await page.getByLabel("Source").fill(SRC);
      await page.getByLabel("Destination").fill(DST);
      await page.getByRole("button", { name: "Ask", exact: true }).click();
      await page.getByRole("heading", { name: `${SRC} to ${DST}` }).waitFor();
      await page.getByLabel("Destination").fill("203.0.113.9");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: `${SRC} to 203.0.113.9` }).waitFor();
      await page.getByRole("link", { name: "Find destination" }).click();
      await page.getByRole("heading", { name: "Which destinations fit an RTT?" }).waitFor();
      assertEquals(await page.getByLabel("Source").inputValue(), SRC, "parts share what they ask for");
      await page.goBack();
      await page.getByRole("heading", { name: `${SRC} to 203.0.113.9` }).waitFor();
      await page.goBack();
      await page.getByRole("heading", { name: `${SRC} to ${DST}` }).waitFor();
      assertEquals(await page.getByLabel("Destination").inputValue(), DST);
      await page.goForward();
      await page.getByRole("heading", { name: `${SRC} to 203.0.113.9` }).waitFor();
      assertEquals(
        await page.getByRole("button", { name: `${SRC} → ${DST}` }).count(),
        1,
        "it is an example",
      );
      await settled(page);
      assertEquals(complaints, []);
    });

    await t.step("a table with other names is read once its columns are named", async () => {
      const { page, complaints } = await open("#pings");
      await page.getByLabel("Your pings").fill(`Zeit;Ziel;Laufzeit\n15.06.2025 14:00:00;${DST};12,5\n`);
      await page.getByLabel("Source").fill(SRC);
      await page.getByLabel("Columns").fill("Zeit");
      await page.getByRole("button", { name: "Check these pings" }).click();
      await page.getByText("Cannot use Columns: Zeit: unknown key Zeit, expected KEY=NAME").waitFor();
      await page.getByText(
        "name them, such as Columns: dst=DST,rtt=RTT, or set one for all rows with Destination:",
      ).waitFor();
      await page.getByLabel("Columns").fill("time=Zeit,dst=Ziel,rtt=Laufzeit");
      await page.getByLabel("Time zone").fill("Europe/Berlin");
      await page.getByRole("button", { name: "Check these pings" }).click();
      await page.getByRole("heading", { name: `${SRC} to ${DST}, 2025-06-15 12:00 UTC` }).waitFor();
      await settled(page);
      assertEquals(complaints, []);
      await page.close();
    });

    await t.step("pings too long for a link are reported, and kept by the history", async () => {
      const { page } = await open("#pings");
      const line = (i: number) =>
        `64 bytes from ${DST}: icmp_seq=${i} ttl=57 time=${(Math.sin(i) ** 2 * 1e6).toFixed(3)} ms`;
      const text = Array.from({ length: 900 }, (_, i) => line(i)).join("\n");
      await page.getByLabel("Your pings").fill(text);
      await page.getByRole("button", { name: "Copy link" }).click();
      await page.getByText("too long for a link").waitFor();
      await page.getByRole("button", { name: "Check these pings" }).click();
      await page.getByText("Enter a source").waitFor();
      await page.reload();
      await page.getByText("Enter a source").waitFor();
      assertEquals(await page.getByLabel("Your pings").inputValue(), text);
    });
  },
);

pageTest("the page works without a mouse, and shows errors beside their fields", async (t, open) => {
  const focused = (page: Page) =>
    page.evaluate("document.activeElement.textContent.trim() || document.activeElement.name");

  await t.step("the skip link, fields and answer are reached by keyboard", async () => {
    const { page, complaints } = await open("#ask");
    await page.keyboard.press("Tab");
    assertEquals(await focused(page), "Skip to the question");
    await page.keyboard.press("Enter");
    assertEquals(await focused(page), "How long does a ping take?");
    await page.keyboard.press("Tab");
    await page.keyboard.type(SRC);
    await page.keyboard.press("Tab");
    await page.keyboard.type("1.2.3.400");
    await page.keyboard.press("Enter");
    const destination = page.getByLabel("Destination");
    await page.locator("[aria-invalid]").waitFor();
    assertEquals(await focused(page), "dst", "the faulty field has the focus");
    const described = await destination.getAttribute("aria-describedby") ?? "";
    assertStringIncludes(
      await page.locator(`[id="${described}"]`).innerText(),
      "Cannot read 1.2.3.400: expected an IPv4 or IPv6",
    );
    await page.keyboard.press("Control+A");
    await page.keyboard.type(DST);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: `${SRC} to ${DST}` }).waitFor();
    await settled(page);
    const said = await page.locator("[role=status].unseen").allInnerTexts();
    assert(said.some((text) => /^Median .* of the replies take/.test(text)), said.join("; "));
    assert(await page.getByRole("img", { name: /Distribution function of the RTT\. Median/ }).isVisible());
    assertEquals(complaints, []);
  });

  await t.step("arrow keys move in the table of medians, and Enter shows a distribution", async () => {
    const { page, complaints } = await open(HASHES.compare.replace("&cell=1,0", ""));
    await page.getByRole("button", { name: "Compare", exact: true }).focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "192.0.2.2 to 203.0.113.9" }).waitFor();
    assertStringIncludes(page.url(), "cell=1%2C1");
    await settled(page);
    const chosen = page.getByRole("gridcell", { selected: true });
    assertMatch(await chosen.innerText(), /\d.*lost/s);
    const best = "Which destinations serve all sources best?";
    await page.getByText(best).focus();
    await page.keyboard.press("Enter");
    const together = page.getByRole("region", { name: "Destinations together" });
    assertMatch(
      await together.innerText(),
      new RegExp(`(${DST}|203.0.113.9).* s from (${SRC}|192.0.2.2).* ms`, "s"),
    );
    assertEquals(await focused(page), best, "the focus stays");
    assertEquals(complaints, []);
  });

  await t.step("leaving a question aborts its request", async () => {
    const { page } = await open("#model");
    // The request is held back, so that no answer can arrive before it is cancelled.
    await page.route("**/v1/destinations", () => {});
    const aborted = page.waitForEvent(
      "requestfailed",
      (request) => request.url().endsWith("/v1/destinations"),
    );
    const asked = page.waitForRequest(/v1\/destinations/);
    await page.evaluate(`location.hash = ${JSON.stringify(HASHES.fits)}`);
    await asked;
    await page.getByRole("link", { name: "About the model" }).click();
    assertEquals((await aborted).failure()?.errorText, "net::ERR_ABORTED");
  });

  await t.step("server errors are shown verbatim, and an unreachable server is reported", async () => {
    const { page } = await open(`#ask?src=${SRC}&dst=2001:db8::1`);
    assertMatch(
      await page.getByRole("alert").first().innerText(),
      /expected two addresses of the same version/,
    );
    await page.route("**/v1/rtt", (route) => route.abort());
    await page.getByLabel("Destination").fill(DST);
    await page.keyboard.press("Enter");
    await page.getByText("Cannot reach the server at 127.0.0.1").waitFor();
    await page.close();
  });
});

/** An answer of the API with its texts replaced by hostile ones, except for keys to keep. */
function poisoned(value: unknown, keep: (key: string) => boolean, key = ""): unknown {
  if (typeof value === "string") return keep(key) ? value : HOSTILE.join(" ");
  if (Array.isArray(value)) return value.map((each) => poisoned(each, keep, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, poisoned(each, keep, name)]));
}

pageTest(
  "hostile links, pasted texts, model names and answers run no script and keep to the policy",
  async (t, open) => {
    const ranIn = (page: Page) => page.evaluate("String(window.ran)");

    await t.step("the policy is active: a script in the HTML is blocked and reported", async () => {
      const { page, complaints } = await open("#model");
      await page.evaluate(`document.body.insertAdjacentHTML("beforeend", ${JSON.stringify(HOSTILE[0])})`);
      await until("the report", () => complaints.some((text) => text.includes("CSP: script-src")));
      assertEquals(await ranIn(page), "undefined");
      await page.close();
    });

    await t.step("links", async () => {
      const fields = ["src", "dst", "sources", "destinations", "cell", "low", "high", "time"];
      const values = new URLSearchParams(fields.map((name) => [name, HOSTILE.join("\n")]));
      values.set("pings", await packText(HOSTILE.join("\n")));
      for (const part of ["ask", "compare", "pings", "fits", "model", HOSTILE[0]]) {
        const { page, complaints } = await open(`#${encodeURIComponent(part)}?${values}`);
        assertEquals([await ranIn(page), complaints], ["undefined", []], part);
        await page.close();
      }
    });

    await t.step("pasted texts and texts stored by the browser", async () => {
      const { page, complaints } = await open("#pings");
      const texts = [
        `src_addr,dst_addr,timestamp,rtt\n${HOSTILE.map((text) => `${SRC},${text},1,2`).join("\n")}`,
        JSON.stringify({ src: HOSTILE[0], dst: DST, rtt: 3 }),
        `PING ${HOSTILE[0]} (${DST}) 56(84) bytes\n64 bytes from ${
          HOSTILE[1]
        } (${DST}): icmp_seq=1 time=2 ms`,
      ];
      for (const text of texts) {
        await page.getByLabel("Your pings").fill(text);
        await page.getByLabel("Source").fill(SRC);
        await page.getByRole("button", { name: "Check these pings" }).click();
        await settled(page);
        assertEquals([await ranIn(page), complaints], ["undefined", []], text);
      }
      const kept = JSON.stringify([{ src: HOSTILE[0], dst: HOSTILE[1] }]);
      await page.evaluate(`localStorage.setItem("ping-llm last questions", ${JSON.stringify(kept)})`);
      await page.goto(new URL("#ask", page.url()).href);
      await page.reload();
      await settled(page);
      assertStringIncludes(await shownText(page), HOSTILE[0]);
      assertEquals([await ranIn(page), complaints], ["undefined", []]);
      await page.close();
    });

    await t.step("model names, bases, notes, errors and descriptions", async () => {
      const { page, complaints, url } = await open("#model");
      const further = {
        basis: { kind: "measured", text: HOSTILE.join(" ") },
        data: {
          origin: HOSTILE.join(" "),
          is_synthetic: true,
          start: HOSTILE[1],
          end: null,
          measurements: 3,
          sources: 1,
          destinations: 2,
          adaptation: null,
        },
        notes: HOSTILE,
      };
      await page.route(/\/v1\/(model|rtt)$/, async (route) => {
        const response = await route.fetch();
        const answer = poisoned(await response.json(), (key) => /_addr$/.test(key)) as object;
        await route.fulfill({ response, json: { ...answer, ...further } });
      });
      await page.route("**/openapi.json", async (route) => {
        const response = await route.fetch();
        const keep = (key: string) => ["$ref", "type", "required", "name", "in"].includes(key);
        await route.fulfill({ response, json: poisoned(await response.json(), keep) as object });
      });
      for (const path of ["#model", HASHES.ask, "docs"]) {
        await page.goto("about:blank");
        await page.goto(`${url}${path}`);
        await settled(page);
        assertStringIncludes(await shownText(page), HOSTILE[0]);
        assertEquals([await ranIn(page), complaints], ["undefined", []], path);
      }
      await page.unrouteAll();
      await page.route("**/v1/rtt", (route) => route.fulfill({ status: 400, json: { detail: HOSTILE[0] } }));
      await page.goto(`${url}${HASHES.ask}`);
      await page.getByRole("alert").filter({ hasText: HOSTILE[0] }).waitFor();
      assertEquals(await ranIn(page), "undefined");
    });
  },
);

pageTest(
  "tables and charts can be saved, questions can be copied, and /docs is readable",
  async (t, open) => {
    await t.step("CSV, PNG and curl", async () => {
      const { page, complaints, url } = await open(HASHES.ask);
      const saved = async (name: string) => {
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.getByRole("button", { name }).first().click(),
        ]);
        return { name: download.suggestedFilename(), bytes: Deno.readFileSync(await download.path()) };
      };
      const csv = await saved("Save as CSV");
      const [header, first] = new TextDecoder().decode(csv.bytes).split("\r\n");
      assertEquals(csv.name, "rtt-quantiles.csv");
      assertEquals(header, "src,dst,time,given,quantile,rtt_ms");
      assert(first.startsWith(`${SRC},${DST},${Date.UTC(2025, 5, 15, 12) / 1000},,0.005,`), first);
      const png = await saved("Save as PNG");
      assertEquals(png.name, "histogram-of-the-rtt.png");
      assertEquals(new TextDecoder().decode(png.bytes.subarray(1, 4)), "PNG");
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.getByRole("button", { name: "Copy as curl" }).click();
      await page.getByText("Command copied.").waitFor();
      const command = String(await page.evaluate("navigator.clipboard.readText()"));
      const asked = /^curl '([^']*)'$/.exec(command)?.[1] ?? "";
      assert(asked.startsWith(`${url}v1/rtt?src=${SRC}`), command);
      const { quantiles_ms } = await (await fetch(asked)).json();
      assertStringIncludes(await shownText(page), formatMs(quantiles_ms["0.5"]));
      assertEquals(complaints, []);
      await page.close();
    });

    await t.step("/docs", async () => {
      const { page, url } = await lookedAt(open, "docs");
      const text = await shownText(page);
      const description = await (await fetch(`${url}openapi.json`)).json();
      const names = [...Object.keys(description.paths), ...Object.keys(description.components.schemas)];
      for (const name of names) assertStringIncludes(text, name);
      const commands = await page.getByLabel("Example").allInnerTexts();
      const asked = commands.find((command) => command.includes("/v1/rtt?")) ?? "";
      const response = await fetch(/'([^']*)'/.exec(asked)?.[1] ?? "");
      assertEquals(response.status, 200, asked);
      await response.body?.cancel();
      await page.close();
    });
  },
);

Deno.test({
  name: "the page answers, looks and behaves correctly, even with hostile input",
  ignore: !hasBrowser(),
  fn: (t) =>
    withCheckpoint(async (folder, checkpoint) => {
      const losses = [1, 2, 3].map((step) =>
        JSON.stringify({ step, "train/loss": 5 / step, ...(step === 3 && { "eval/loss": 1.5 }) })
      );
      Deno.writeTextFileSync(join(folder, "metrics.jsonl"), `${losses.join("\n")}\n`);
      await using server = await TestServer.start(checkpoint);
      await using browser = await TestBrowser.start();
      for (const [name, test] of PAGE_TESTS) await t.step(name, (t) => test(t, opener(browser, server)));
    }, { scale: 12 }),
});

Deno.test({
  name: "the page proposes what to measure next about an address that training did not measure",
  ignore: !hasBrowser(),
  fn: () =>
    withRowCheckpoint(async (at) => {
      await using server = await TestServer.start(at("run"));
      await using browser = await TestBrowser.start();
      const { page } = await lookedAt(
        opener(browser, server),
        `#ask?src=${NEW_ADDRESS}&dst=${DST}&time=${TIME}`,
        async (page) => {
          await page.getByText("What to measure next").focus();
          await page.keyboard.press("Enter");
          await page.getByRole("status").getByText(/^The best: [\d.]+ to 192\.0\.2\.77\.$/).waitFor();
        },
      );
      const table = await page.getByRole("region", { name: `Measurements of ${NEW_ADDRESS}` }).innerText();
      assertEquals(table.match(/ to 192\.0\.2\.77\s+[\d.]+ \w+\s+[\d.]+ \w+/g)?.length, KNOWN.length);
    }, tinyLocatedModel()),
});

Deno.test({
  name: "the page of a model with places opens with an accessible map, in both themes",
  ignore: !hasBrowser(),
  async fn(t) {
    await withRowCheckpoint(async (at) => {
      Deno.writeTextFileSync(
        at("names.csv"),
        `${DST},dns.example\n192.0.2.0/24,"${HOSTILE[0].replaceAll('"', '""')}"\n`,
      );
      const tables = new PoolTables();
      const [from, to] = [SRC, DST].map((address) => PoolTables.endOf(addressBytes(address)));
      [20, 22, 30].forEach((rttMs, i) => tables.add(from, to, encodeRttCode(rttMs), 1.7e9 + 3600 * i));
      const other = PoolTables.endOf(addressBytes("203.0.113.9"));
      for (let hour = 0; hour < 96; hour++) {
        const rttMs = hour % 24 === 20 ? 42 : 18;
        tables.add(
          from,
          other,
          hour % 10 === 0 ? null : encodeRttCode(rttMs),
          1.7e9 - 1.7e9 % 86_400 + 3600 * hour,
        );
      }
      const { directory, state } = loadCheckpoint(at("run"));
      writePool(directory, tables.save(fitPool([])), state.files.model.sha256);
      await using server = await TestServer.start(at("run"), "--names", at("names.csv"));
      await using browser = await TestBrowser.start();
      const complaints: string[][] = [];
      const openWhole = async (...asked: Parameters<Open>) => {
        const opened = await opener(browser, server, 1000)(...asked);
        complaints.push(opened.complaints);
        return opened;
      };
      const open = async (hash: string) => (await openWhole(hash)).page;
      await t.step("the map", async () => {
        const { page } = await lookedAt(openWhole, `#map?src=${SRC}&time=${TIME}`);
        const text = await shownText(page);
        const wanted = [
          /From 192\.0\.2\.1 \(<img src=x/,
          /≥ 300 ms/,
          /Natural Earth/,
          /DB-IP/,
          /United States/,
        ];
        for (const each of wanted) assertMatch(text, each);
        await page.close();
      });

      await t.step("measured RTTs appear in the chart, in a table and in words", async () => {
        const { page } = await lookedAt(openWhole, HASHES.ask);
        assertMatch(
          await page.locator(".basis").innerText(),
          /^measured .*Pair measured once, last on 2023-11-14/,
        );
        await page.getByText("Bars: measured RTTs.").waitFor();
        await page.getByText("The model remembers 3 measurements of the pair, all with a reply").waitFor();
        await page.getByText("Newest measured RTTs: 3 with a median of 22.0 ms, the newest 30.0 ms")
          .waitFor();
        const rows = await page.getByRole("region", { name: "Newest measured RTTs" }).getByRole("row")
          .allInnerTexts();
        assertMatch(rows[1], /^1\s+2023-11-15 00:13:20\s+30\.0 ms$/);
        assertEquals(rows.length, 4);
        await page.close();
      });

      await t.step("measurements appear by time and by hour of the day, and the time has hours", async () => {
        const { page } = await lookedAt(openWhole, `#ask?src=${SRC}&dst=203.0.113.9&time=${TIME}`);
        const words =
          "Measured RTTs in ms by hour of the day (UTC). median 18.0–42.0 ms, no reply 0 % to 25.0 %.";
        await page.getByRole("img", { name: words }).waitFor();
        await page.getByRole("img", { name: "Measured RTTs in ms, 2023-11-14 to 2023-11-17, each" })
          .waitFor();
        const hours = await page.getByRole("region", { name: "Measured hours of the day" }).getByRole("row")
          .allInnerTexts();
        assertMatch(hours[20 + 1], /^20:00 UTC\s+42\.0 ms\s+42\.0 ms\s+42\.0 ms\s+25\.0 %\s+4$/);
        assertEquals(hours.length, 25);
        await page.getByLabel("Time of day in UTC").selectOption("20:00");
        await page.getByRole("button", { name: "Ask", exact: true }).click();
        await page.getByRole("heading", { name: "The 24 hours from 2025-06-15 20:00 UTC" }).waitFor();
        assertEquals((await parseHash(new URL(page.url()).hash)).fields.time, "2025-06-15T20:00");
        await page.close();
      });

      await t.step("pasted pings show the names of their addresses", async () => {
        const page = await open(HASHES.pings);
        await page.getByRole("cell", { name: `${DST} (dns.example)` }).first().waitFor();
        await page.getByRole("cell", { name: `${SRC} (${HOSTILE[0]})` }).first().waitFor();
        await page.close();
      });

      await t.step("the bare address opens the map, and the form changes its source", async () => {
        const page = await open("");
        await page.getByRole("heading", { name: "How far is everywhere?" }).waitFor();
        assertEquals(
          await page.getByRole("link", { name: "Map", exact: true }).getAttribute("aria-current"),
          "page",
        );
        await page.getByRole("combobox", { name: "From", exact: true }).fill(SRC);
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: `From ${SRC} (${HOSTILE[0]})` }).waitFor();
        await settled(page);
        assertEquals(await page.evaluate("String(window.ran)"), "undefined", "names are no HTML");
        assert(await page.locator(".world path[data-place]").count() > 20, "cells come after countries");
        await page.close();
      });

      await t.step(
        "focus, arrow keys and Enter show a place's numbers, and the link keeps the place",
        async () => {
          const page = await open(`#map?src=${SRC}&time=${TIME}`);
          const pointed = page.locator(".pointed");
          const country = page.locator(".world .country").first();
          const label = await country.getAttribute("aria-label") ?? "";
          assertMatch(
            label,
            /^[^:]+: median .* ms, 90 % in .*–.*, no reply \d+ %; (estimate|guess)$/,
          );
          await country.focus();
          assertEquals(await pointed.innerText(), label);
          const focused = "document.activeElement.getAttribute('aria-label')";
          await page.keyboard.press("ArrowDown");
          const below = String(await page.evaluate(focused));
          assert(below !== label && below.includes("median"), below);
          assertEquals(await pointed.innerText(), below);
          assertEquals(
            await page.locator('.world .country[tabindex="0"]').count(),
            1,
            "one stop of the tab key",
          );
          await page.keyboard.press("Enter");
          const [name] = below.split(":");
          await page.getByRole("heading", { name, exact: true }).waitFor();
          assertEquals((await parseHash(new URL(page.url()).hash)).fields.dst, name);
          const picture = page.locator(".world svg");
          assertEquals(await picture.getAttribute("aria-label"), `Median RTT from ${SRC} (${HOSTILE[0]})`);
          await page.getByRole("radio", { name: /Uncertainty/ }).check();
          await page.getByText(/Width of the interval/).waitFor();
          assertMatch(await picture.getAttribute("aria-label") ?? "", /^Width of the interval/);
          assertEquals((await parseHash(new URL(page.url()).hash)).fields.layer, "interval");
          const [download] = await Promise.all([
            page.waitForEvent("download"),
            page.getByRole("button", { name: "Save as SVG" }).click(),
          ]);
          assertEquals(download.suggestedFilename(), "map.svg");
          await page.getByRole("button", { name: "Map from here" }).click();
          await page.getByRole("heading", { name: `From ${name}` }).waitFor();
          await page.close();
        },
      );

      await t.step("a destination is found by its name and marked on the map", async () => {
        const find = async (page: Page) => {
          const field = page.getByRole("combobox", { name: "Find on the map" });
          await field.pressSequentially("examp");
          const option = page.getByRole("listbox").getByRole("option");
          await option.waitFor();
          assertMatch(await option.innerText(), /^198\.51\.100\.7\s+dns\.example/);
          assertEquals(await field.getAttribute("aria-expanded"), "true");
          assertEquals(await looksFaults(page), []);
          await page.keyboard.press("Escape");
          await option.waitFor({ state: "detached" });
          assertEquals(await field.getAttribute("aria-expanded"), "false");
          await page.keyboard.press("ArrowDown");
          await option.waitFor();
          await page.keyboard.press("ArrowDown");
          assertEquals(await field.getAttribute("aria-activedescendant"), await option.getAttribute("id"));
          assertEquals(await option.getAttribute("aria-selected"), "true");
          await page.keyboard.press("Enter");
          await page.getByRole("heading", { name: `${DST} (dns.example)` }).waitFor();
          assertEquals(await field.inputValue(), DST);
          assertEquals((await parseHash(new URL(page.url()).hash)).fields.dst, DST);
        };
        const { page } = await lookedAt(openWhole, `#map?src=${SRC}&time=${TIME}`, find);
        const answer = await (await server.fetch(`/v1/rtt?src=${SRC}&dst=${DST}&time=${TIME}:00Z`)).json();
        const figures = await page.locator(".figures").first().innerText();
        assertStringIncludes(figures, formatMs(answer.quantiles_ms["0.5"]));
        await page.close();
      });

      await t.step(
        "a place is marked with a dot, and an unknown place is reported beside its field",
        async () => {
          const page = await open(`#map?src=${SRC}&time=${TIME}`);
          const field = page.getByRole("combobox", { name: "Find on the map" });
          await field.pressSequentially("new jer");
          await page.getByRole("listbox").getByRole("option", { name: "New Jersey, US" }).click();
          const dot = page.locator(".world .dot");
          await dot.waitFor();
          const { x, y } = mapPoint({ latitude: 40.77, longitude: -74.02 });
          const at = await Promise.all(["cx", "cy"].map((name) => dot.getAttribute(name)));
          assert(Math.abs(Number(at[0]) - x) < 30 && Math.abs(Number(at[1]) - y) < 30, `${at}`);
          await page.getByText("The ring is the source, the dot the destination.").waitFor();
          await field.fill("Atlantis");
          await page.keyboard.press("Enter");
          await page.locator(".field.dst .fault").waitFor();
          assertMatch(await page.locator(".field.dst .fault").innerText(), /Atlantis/);
          await page.close();
        },
      );

      await t.step("a field for places suggests places, and one for addresses does not", async () => {
        const page = await open(HASHES.ask);
        await page.getByRole("heading", { name: `${SRC} (${HOSTILE[0]}) to ${DST} (dns.example)` }).waitFor();
        const options = page.getByRole("listbox").getByRole("option");
        await page.getByRole("combobox", { name: "Destination" }).fill("germ");
        await options.filter({ hasText: "Germany" }).first().waitFor();
        await page.getByRole("link", { name: "Find destination" }).click();
        await page.getByRole("combobox", { name: "Source" }).fill("germ");
        await page.getByRole("combobox", { name: "Source" }).fill("192.0");
        await options.filter({ hasText: SRC }).first().waitFor();
        assertEquals(await options.filter({ hasText: "Germany" }).count(), 0);
        await page.close();
      });

      await t.step(
        "the wheel, dragging and buttons zoom and move the map",
        async () => {
          const page = await open(`#map?src=${SRC}&time=${TIME}`);
          const box = page.locator(".world");
          const isWide = async (width: number) =>
            await until(
              `a map ${width} wide`,
              async () =>
                (await box.locator("svg").getAttribute("viewBox"))?.split(" ")[2] === width.toFixed(1),
            );
          await page.getByRole("button", { name: "Whole world" }).click();
          await isWide(WORLD.width);
          await box.hover();
          await page.mouse.wheel(0, -300);
          await isWide(WORLD.width / 2);
          const before = page.url();
          const leftOf = async () =>
            Number((await box.locator("svg").getAttribute("viewBox"))?.split(" ")[0]);
          const left = await leftOf();
          const { x, y } = middleOf(await box.boundingBox());
          await page.mouse.move(x, y);
          await page.mouse.down();
          await page.mouse.move(x - 100, y, { steps: 4 });
          await page.mouse.up();
          assertEquals(page.url(), before, "dragging is no click");
          await until("the map is moved", async () => await leftOf() > left);
          await page.getByRole("button", { name: "Zoom out" }).click();
          await isWide(WORLD.width);
          await page.close();
        },
      );

      await t.step("the map of an unmeasured source is pale", async () => {
        const page = await open(`#map?src=198.51.100.200&time=${TIME}`);
        await page.getByText("The source was never measured").waitFor();
        await page.locator(".world.guess").waitFor();
        await page.close();
      });

      await t.step("two fingers zoom the map on a phone, with a matching hint", async () => {
        const context = await browser.browser.newContext({
          viewport: { width: 390, height: 800 },
          hasTouch: true,
          isMobile: true,
        });
        const page = await context.newPage();
        await page.goto(`${server.url}#map?src=${SRC}&time=${TIME}`);
        await settled(page);
        await page.getByText("Two fingers zoom and move the map").waitFor();
        assertEquals(await page.getByText("Scroll to zoom").isVisible(), false);
        await page.getByRole("button", { name: "Whole world" }).click();
        const box = page.locator(".world");
        await box.scrollIntoViewIfNeeded();
        const { x, y } = middleOf(await box.boundingBox());
        const session = await context.newCDPSession(page);
        const touch = async (type: "touchStart" | "touchMove", apart: number) =>
          await session.send("Input.dispatchTouchEvent", {
            type,
            touchPoints: [-1, 1].map((side, id) => ({
              x: x + side * apart / 2,
              y,
              id,
            })),
          });
        await touch("touchStart", 60);
        for (const apart of [80, 100, 120]) await touch("touchMove", apart);
        await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
        await until("the map is zoomed", async () => {
          const view = await box.locator("svg").getAttribute("viewBox");
          return Math.abs(Number(view?.split(" ")[2]) - WORLD.width / 2) < 1;
        });
        assertEquals(await looksFaults(page), []);
        await context.close();
      });

      await t.step("a host name is reported beside its field, and not resolved", async () => {
        const page = await open(`#map?src=example.org&time=${TIME}`);
        await page.locator(".fault").first().waitFor();
        assertMatch(
          await shownText(page),
          /example\.org.*this looks like a host name: resolve it and give its address/s,
        );
        await page.close();
      });
      assertEquals(complaints.flat().filter((text) => !/400 \(Bad Request\)/.test(text)), []);
    }, await tinyPlacedModel());
  },
});

function middleOf(
  box: { x: number; y: number; width: number; height: number } | null,
): { x: number; y: number } {
  if (!box) throw new Error("it is not shown");
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Faults in the page's appearance: too wide, texts with too little contrast, empty charts. */
async function looksFaults(page: Page): Promise<string[]> {
  return await page.evaluate(LOOKS_FAULTS) as string[];
}

// Runs in the page. Contrast: WCAG 2.2, success criterion 1.4.3, level AA, treating all texts as small.
const LOOKS_FAULTS = `(() => {
  const LEAST_CONTRAST = 4.5;
  const faults = [];
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > innerWidth) faults.push("the page is " + scrollWidth + " px wide");
  const ctx = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  // Draws colours over each other, in any notation.
  const blend = (colors) => {
    ctx.clearRect(0, 0, 1, 1);
    for (const color of colors) { ctx.fillStyle = color; ctx.fillRect(0, 0, 1, 1); }
    return [...ctx.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => value / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const backgroundsOf = (element) => element ? [...backgroundsOf(element.parentElement), getComputedStyle(element).backgroundColor] : [];
  let numTexts = 0;
  const check = (element, color, text) => {
    const backgrounds = backgroundsOf(element);
    const [a, b] = [blend(backgrounds), blend([...backgrounds, color])].map(luminance).sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    numTexts++;
    if (contrast < LEAST_CONTRAST) faults.push(contrast.toFixed(2) + ": " + text);
  };
  for (const element of document.querySelectorAll("body *")) {
    const isText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== "");
    if (!isText && !element.matches("input, textarea, select") || !element.checkVisibility()) continue;
    check(element, getComputedStyle(element).color, (element.textContent || element.value).slice(0, 40));
    if (element.placeholder) check(element, getComputedStyle(element, "::placeholder").color, element.placeholder);
  }
  if (numTexts < 10) faults.push("only " + numTexts + " texts");
  for (const chart of document.querySelectorAll(".chart canvas")) {
    const copy = new OffscreenCanvas(chart.width, chart.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(chart, 0, 0);
    const { data } = copy.getImageData(0, 0, chart.width, chart.height);
    if (!data.some((value) => value !== 0)) faults.push("a chart is empty");
    const { clientWidth } = chart.closest(".chart");
    if (chart.clientWidth !== clientWidth) faults.push("a chart is " + chart.clientWidth + " of " + clientWidth + " px wide");
  }
  return faults;
})()`;

// A busy browser may draw no frame and not be idle for long, and `evaluate` has no time limit.
const QUIET_TURN = `new Promise((done) => {
  setTimeout(done, 1000);
  requestAnimationFrame(() => requestIdleCallback(done));
})`;

/** Waits until the page has no more requests. */
async function settled(page: Page): Promise<void> {
  await page.locator("h1").waitFor();
  // Drawing a partial answer may start the next request.
  let numQuiet = 0;
  await until("the page asks nothing more", async () => {
    await page.evaluate(QUIET_TURN);
    const isBusy = await page.locator("p.busy:not([hidden])").count() > 0;
    numQuiet = isBusy ? 0 : numQuiet + 1;
    return numQuiet >= 3;
  });
}
