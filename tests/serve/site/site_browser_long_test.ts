/** The exported site in a real browser, from a plain web server. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Browser, Page } from "playwright-core";
import type { AnswerOf, QuestionOf } from "../../../lib/query/questions/questions.ts";
import { CALIBRATION_LEVELS } from "../../../lib/query/rtt/quantile_calibration.ts";
import { formatBytes } from "../../../lib/base/text.ts";
import { loadCheckpoint } from "../../../lib/train/checkpoint.ts";
import { tinyLocatedModel, tinyPlacedModel } from "../../query/adapt/tiny_rows.ts";
import { withRowCheckpoint } from "../../query/adapt/row_checkpoint.ts";
import { succeed } from "../../cli/process.ts";
import { hasBrowser, SOFTWARE_WEBGPU, TestBrowser } from "../../base/report/browser.ts";
import { StaticServer } from "../test_server.ts";

const HAS_BROWSER = hasBrowser();
const WEIGHTS = "/model.safetensors";
const QUANTILES = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];
/** Known and unknown addresses, IPv4 and IPv6, with a time, with context. */
const QUESTIONS: QuestionOf<"rtt">[] = [
  { src: "192.0.2.1", dst: "198.51.100.7" },
  { src: "203.0.113.5", dst: "192.0.2.77", time: 1_750_766_400 },
  { src: "2001:db8::1", dst: "2001:db8::2" },
  {
    src: "192.0.2.1",
    dst: "203.0.113.5",
    time: 1_750_766_400,
    context: [
      { src: "192.0.2.1", dst: "203.0.113.5", time: 1_750_766_000, rtt: 21.5 },
      { src: "192.0.2.1", dst: "198.51.100.7", time: 1_750_766_100, rtt: null },
    ],
  },
];

/** Asks a site's worker without the page. */
const ASK = `async (questions) => {
  const worker = new Worker("/worker.js", { type: "module" });
  const answers = await new Promise((resolve, reject) => {
    const answers = [];
    worker.onerror = (event) => reject(new Error(event.message));
    worker.onmessage = ({ data }) => {
      if (data.kind === "ready") questions.forEach((question, id) => worker.postMessage({ kind: "ask", id, operation: "rtt", question }));
      if (data.kind === "status" && data.status.state === "failed") reject(new Error(data.status.message));
      if (data.kind === "answer" || data.kind === "problem") answers.push([data.id, data.answer ?? data.detail]);
      if (answers.length === questions.length) resolve(answers);
    };
    worker.postMessage({ kind: "open", site: new URL("/site.json", location.href).href });
  });
  worker.terminate();
  return answers.sort(([a], [b]) => a - b).map(([, answer]) => answer);
}`;

/** Exports a small model, serves the site, and opens a browser. */
async function withSite(
  test: (site: { server: StaticServer; browser: Browser; at: (name: string) => string }) => Promise<void>,
  { options = () => [], model = tinyLocatedModel() }: {
    options?: (at: (name: string) => string) => string[];
    model?: ReturnType<typeof tinyLocatedModel>;
  } = {},
): Promise<void> {
  await withRowCheckpoint(async (at) => {
    await succeed("export", "--checkpoint", at("run"), "--output", at("site"), ...options(at));
    await using server = new StaticServer(at("site"));
    await using browser = await TestBrowser.start(SOFTWARE_WEBGPU);
    await test({ server, browser: browser.browser, at });
  }, model);
}

/** Opens the page. @returns The text about the model's state, once it matches. */
async function statusOf(page: Page, url: string, wanted: RegExp): Promise<string> {
  await page.goto(url);
  const status = page.getByRole("status").filter({ hasText: wanted });
  await status.waitFor();
  return await status.innerText();
}

function report(at: (name: string) => string): string[] {
  const { sha256 } = loadCheckpoint(at("run")).state.files.model;
  const run = { checkpoint: "run", step: 3, modelSha256: sha256, isPooled: false };
  const shares = CALIBRATION_LEVELS.map((level) => level ** 2);
  Deno.writeTextFileSync(at("report.json"), JSON.stringify({ run, calibration: { shares } }));
  return ["--calibration", at("report.json")];
}

Deno.test({
  name: "the model in a browser matches query rtt, calibrated or not",
  ignore: !HAS_BROWSER,
  fn: (t) =>
    withSite(async ({ server, browser, at }) => {
      const page = await browser.newPage();
      const ask = async (): Promise<AnswerOf<"rtt">[]> => {
        await page.goto(server.at("/icon.svg"));
        const asked = QUESTIONS.map((question) => ({ ...question, quantiles: QUANTILES }));
        return await page.evaluate(`(${ASK})(${JSON.stringify(asked)})`);
      };
      const lines = QUESTIONS.map((question) => JSON.stringify(question));
      Deno.writeTextFileSync(at("queries.jsonl"), lines.join("\n"));
      const check = async (...calibration: string[]) => {
        const query = ["query", "rtt", "--checkpoint", at("run"), "--queries", at("queries.jsonl")];
        const { stdout } = await succeed(...query, "--quantiles", QUANTILES.join(), ...calibration);
        const answers = await ask();
        const wanted: AnswerOf<"rtt">[] = stdout.trim().split("\n").map((line) => JSON.parse(line));
        assertEquals(wanted.length, answers.length);
        wanted.forEach(({ quantiles_ms, p_failed }, i) => {
          assertNear(answers[i].p_failed, p_failed, `P(no reply) of question ${i}`);
          for (const p of QUANTILES) {
            assertNear(answers[i].quantiles_ms[p], quantiles_ms[p], `quantile ${p} of question ${i}`);
          }
        });
      };

      await t.step("uncalibrated", async () => await check());

      await t.step("calibrated", async () => {
        const calibration = report(at);
        const site = ["--output", at("site"), "--overwrite"];
        await succeed("export", "--checkpoint", at("run"), ...site, ...calibration);
        await check(...calibration);
      });
    }),
});

Deno.test({
  name: "a site's map and search use the model in the browser",
  ignore: !HAS_BROWSER,
  fn: async () =>
    await withSite(async ({ server, browser }) => {
      const page = await browser.newPage();
      await statusOf(page, server.at("/#map?time=2025-06-15T12:00"), /runs in this browser/);
      await page.getByRole("heading", { name: "How far is everywhere?" }).waitFor();
      await page.getByRole("combobox", { name: "From" }).fill("probe");
      await page.getByRole("listbox").getByRole("option", { name: "192.0.2.1" }).waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "From 192.0.2.1 (probe 6001)" }).waitFor();
      await page.locator(".world .country").first().waitFor();
      await page.getByRole("combobox", { name: "Find on the map" }).pressSequentially("new jer");
      await page.getByRole("listbox").getByRole("option", { name: "New Jersey, US" }).click();
      await page.locator(".world .dot").waitFor();
      await page.getByRole("heading", { name: "New Jersey, US" }).waitFor();
      assertMatch(await page.locator(".figures").first().innerText(), /Median\s+[\d.,]+ \w+/);
      await page.goto(server.at("/#ask?src=192.0.2.1&dst=198.51.100.7&time=2025-06-15T12:00"));
      await page.getByText("Pair measured once, last on 2023-11-14").waitFor();
      assertMatch(await page.locator(".basis").innerText(), /^measured /);
      assertEquals(server.requests.filter((path) => path.includes("v1")), [], "nothing else is asked");
    }, {
      model: await tinyPlacedModel(),
      options: (at) => {
        Deno.writeTextFileSync(at("names.csv"), "192.0.2.1,probe 6001\n");
        return ["--names", at("names.csv")];
      },
    }),
});

function assertNear(found: number, wanted: number, what: string): void {
  assert(Math.abs(found - wanted) <= 1e-3 * wanted, `${what}: ${found}, expected ${wanted}`);
}

Deno.test({
  name: "a site caches its weights, and reports problems with them or the browser",
  ignore: !HAS_BROWSER,
  fn: (t) =>
    withSite(async ({ server, browser }) => {
      await t.step("no weights are loaded in a browser without a GPU", async () => {
        await using other = await TestBrowser.start(["--host-resolver-rules=MAP site.test 127.0.0.1"]);
        const page = await other.browser.newPage();
        const said = await statusOf(page, server.at("/"), /^Cannot/);
        assertStringIncludes(said, "Cannot run the model here: ");
        assertStringIncludes(said, "offers no GPU; open the page in a current Chrome");
        const insecure = await statusOf(page, server.at("/").replace("127.0.0.1", "site.test"), /^Cannot/);
        assertStringIncludes(insecure, "only to pages loaded over https or from this machine");
        assertStringIncludes(insecure, "open the page over https");
        assertEquals(server.requests.includes(WEIGHTS), false);
      });

      await t.step(
        "weights are cached until deleted, and loaded again if damaged",
        async () => {
          const files = [WEIGHTS, "/training_data.safetensors"];
          const size = formatBytes(
            files.reduce((sum, file) => sum + Deno.statSync(`${server.folder}${file}`).size, 0),
          );
          const context = await browser.newContext();
          const load = async (): Promise<Page> => {
            const page = await context.newPage();
            server.requests = [];
            assertStringIncludes(
              await statusOf(page, server.at("/"), /runs in this browser/),
              `has cached ${size}`,
            );
            return page;
          };
          const loaded = () => server.requests.filter((path) => path === WEIGHTS).length;
          const first = await load();
          assertEquals(loaded(), 1);
          await first.goto(server.at("/#model"));
          await first.getByText("swiftshader").waitFor();
          await load();
          assertEquals(loaded(), 0, "kept");
          await first.evaluate(`(async () => {
        const cache = await caches.open((await caches.keys())[0]);
        const [key] = await cache.keys();
        await cache.put(key, new Response("damaged", { headers: { "content-length": "7" } }));
      })()`);
          const third = await load();
          assertEquals(loaded(), 1, "damaged on the disk");
          await third.getByRole("button", { name: /delete/i }).click();
          await third.getByRole("button", { name: /delete/i }).waitFor({ state: "detached" });
          await load();
          assertEquals(loaded(), 1, "deleted");
        },
      );

      await t.step("damaged, truncated, missing and oversized weights are errors", async () => {
        const path = `${server.folder}${WEIGHTS}`;
        const bytes = Deno.readFileSync(path);
        const page = await browser.newPage();
        const refused = async (...parts: string[]) => {
          const said = await statusOf(page, server.at("/"), /^Cannot/);
          for (const part of [...parts, "load the page again"]) assertStringIncludes(said, part);
        };
        Deno.writeFileSync(path, bytes.map((byte, i) => i === bytes.length - 100 ? byte ^ 1 : byte));
        await refused("its SHA-256 is ", "damaged or replaced");
        Deno.writeFileSync(path, bytes.subarray(0, -1));
        await refused(`found ${bytes.length - 1} bytes, expected ${bytes.length}`);
        Deno.removeSync(path);
        await refused("the server answered 404");
        const description = `${server.folder}/site.json`;
        const { model, ...site } = JSON.parse(Deno.readTextFileSync(description));
        model.config.model.prefixVectors.rows = 2 ** 24;
        Deno.writeTextFileSync(description, JSON.stringify({ model, ...site }));
        const large = await statusOf(page, server.at("/"), /^Cannot/);
        assertStringIncludes(
          large,
          "Cannot run the model here: its largest tensor takes 2,049 MiB, but this GPU allows at most ",
        );
        for (const other of ["{}", JSON.stringify({ model, ...site, formatVersion: 2 })]) {
          Deno.writeTextFileSync(description, other);
          assertStringIncludes(await statusOf(page, server.at("/"), /^Cannot/), "run deno task export again");
        }
      });
    }),
});
