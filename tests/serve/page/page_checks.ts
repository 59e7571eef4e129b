/** Checks of the page as a browser shows it. @module */
import type { Page } from "playwright-core";

/** Faults in how the page looks: wider than the window, or texts that are hard to tell from what is behind. */
export async function looksFaults(page: Page): Promise<string[]> {
  return await page.evaluate(LOOKS_FAULTS) as string[];
}

// Runs in the page. Contrast: WCAG 2.2, success criterion 1.4.3, level AA, taken as if all texts were small.
const LOOKS_FAULTS = `(() => {
  const LEAST_CONTRAST = 4.5;
  const faults = [];
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > innerWidth) faults.push("the page is " + scrollWidth + " px wide");
  const ctx = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  // Draws colours over each other, whatever way they are written in.
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
    const { data } = chart.getContext("2d").getImageData(0, 0, chart.width, chart.height);
    if (!data.some((value) => value !== 0)) faults.push("a chart is empty");
  }
  return faults;
})()`;

/** Waits until the page asks nothing more. */
export async function settled(page: Page): Promise<void> {
  await page.locator("h1").waitFor();
  // A part of an answer may begin the next question when it is drawn.
  for (let numQuiet = 0; numQuiet < 3;) {
    await page.waitForTimeout(50);
    const isBusy = await page.locator("p.busy:not([hidden])").count() > 0;
    numQuiet = isBusy ? 0 : numQuiet + 1;
  }
}
