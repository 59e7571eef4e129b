/**
 * A real browser for tests of pages: headless Chromium.
 *
 * @module
 */
import { toFileUrl } from "@std/path";
import { type Browser, chromium, type Page } from "playwright-core";
import { exists } from "../../../lib/io/files/inputs.ts";

/** Where to find Chromium: Debian's binary instead of its wrapper, and locations on other systems. */
const PLACES = [
  "/usr/lib/chromium/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/chromium",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
const ARGUMENTS = [
  ...["--no-sandbox", "--no-first-run", "--disable-quic", "--disable-background-networking"],
  ...["--disable-component-update", "--disable-sync"],
];

/** The longest wait for something on a page, only to end a test that hangs. */
const LONGEST_WAIT_MS = 300_000;

/** WebGPU on the processor. Without these flags, headless Chromium gives pages no adapter. */
export const SOFTWARE_WEBGPU: readonly string[] = [
  ...["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"],
  ...["--enable-features=Vulkan", "--use-vulkan=swiftshader"],
];

/** Whether there is a browser. If not, prints that tests are skipped, which CI does not allow. */
export function hasBrowser(): boolean {
  if (PLACES.some(exists)) return true;
  if (Deno.env.get("CI")) throw new Error("no Chromium was found; sh setup.sh --browser installs it");
  console.log("skipped: no Chromium was found; sh setup.sh --browser installs it");
  return false;
}

/** A browser that is closed at the end. */
export class TestBrowser implements AsyncDisposable {
  private constructor(readonly browser: Browser) {}

  /** @param further Command line options. */
  static async start(further: readonly string[] = []): Promise<TestBrowser> {
    const executablePath = PLACES.find(exists);
    if (!executablePath) throw new Error("no Chromium was found");
    const browser = await chromium.launch({
      executablePath,
      args: [...ARGUMENTS, ...further],
      timeout: LONGEST_WAIT_MS,
    });
    const newContext = browser.newContext.bind(browser);
    // Every page has a context.
    browser.newContext = async (options) => {
      const context = await newContext(options);
      context.setDefaultTimeout(LONGEST_WAIT_MS);
      return context;
    };
    return new TestBrowser(browser);
  }

  /**
   * @param path An HTML file.
   * @param options `width`: of the window in pixels; `colorScheme`: of the reader's system; `isPrint`: as
   *   printed.
   * @returns The page, and what it complained about or requested from the network.
   */
  async open(
    path: string,
    options: { width: number; colorScheme: "light" | "dark"; isPrint?: boolean },
  ): Promise<{ page: Page; complaints: string[] }> {
    const { width, colorScheme, isPrint } = options;
    const page = await this.browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    if (isPrint) await page.emulateMedia({ media: "print" });
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => complaints.push(String(error)));
    const { href } = toFileUrl(path);
    page.on("request", (request) => {
      if (request.url() !== href) complaints.push(`asks for ${request.url()}`);
    });
    await page.goto(href);
    return { page, complaints };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
  }
}

/**
 * Faults in a page's layout: elements wider than the window, pictures with overlapping texts or texts outside
 * of them, pictures without marks.
 */
export async function layoutFaults(page: Page): Promise<string[]> {
  return await page.evaluate(LAYOUT_FAULTS) as string[];
}

// Runs in the page. SVG text boxes have the height of a line whatever the text, so an overlap of a pixel or
// two does not count.
const LAYOUT_FAULTS = `(() => {
  const SLACK_PX = 2;
  const faults = [];
  if (document.documentElement.scrollWidth > innerWidth) faults.push("the page is " + document.documentElement.scrollWidth + " px wide");
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest("svg") && element.tagName !== "svg" || element.closest(".scroll")) continue;
    const { left, right, width } = element.getBoundingClientRect();
    if (width > 0 && (left < -1 || right > innerWidth + 1)) faults.push(element.tagName + " ends at " + right + ": " + element.textContent.slice(0, 40));
  }
  for (const figure of document.querySelectorAll("figure")) {
    const svg = figure.querySelector("svg");
    if (!svg) { faults.push(figure.id + " has no picture"); continue; }
    const marks = svg.querySelectorAll(".mark-line path, .mark-rect path, .mark-symbol path, .mark-area path, .mark-rule line");
    if (marks.length === 0) faults.push(figure.id + " has no marks");
    if (/NaN|undefined|null/.test(svg.outerHTML)) faults.push(figure.id + " has NaN, undefined or null");
    const outer = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim() !== "" && getComputedStyle(text).opacity !== "0")
      .map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }));
    texts.forEach(({ text, box }, i) => {
      if (box.left < outer.left - SLACK_PX || box.right > outer.right + SLACK_PX || box.top < outer.top - SLACK_PX || box.bottom > outer.bottom + SLACK_PX) faults.push(figure.id + ": " + text + " lies outside");
      for (const other of texts.slice(i + 1)) {
        const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (across > SLACK_PX && down > box.height / 4) faults.push(figure.id + ": " + text + " lies over " + other.text);
      }
    });
  }
  return faults;
})()`;
