/** uPlot charts in the page's colours and as wide as their container, with a text alternative. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { saveFile } from "./saved_files.tsx";

const COLOR_NAMES = ["paper", "ink", "muted", "faint", "rule", "accent", "contrast"] as const;
export type Colors = Record<(typeof COLOR_NAMES)[number], string>;

export interface ChartPlan {
  data: uPlot.AlignedData;
  options: (colors: Colors) => Omit<uPlot.Options, "width" | "height">;
  /** Describes a data point, given its index, while the pointer is over it. */
  readout: (index: number) => string;
}

/** @param label One sentence for screen readers. @param plan A different plan redraws the chart. */
export function Chart({ label, heightPx, plan }: { label: string; heightPx: number; plan: ChartPlan }) {
  const place = useRef<HTMLDivElement>(null);
  const isDark = useIsDark();
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const options = plan.options(colorsOf(element));
    const readout = document.createElement("p");
    readout.className = "readout";
    const setCursor = ({ cursor: { idx } }: uPlot) => {
      readout.textContent = typeof idx === "number" ? plan.readout(idx) : "";
    };
    const hooks = { ...options.hooks, setCursor: [setCursor] };
    const size = { width: element.clientWidth, height: heightPx };
    const chart = new uPlot({ ...options, ...size, hooks }, plan.data, element);
    chart.root.append(readout);
    const observer = new ResizeObserver(() => {
      const width = element.clientWidth;
      // The width is briefly 0 while a window moves between screens.
      if (width > 0 && width !== chart.width) chart.setSize({ width, height: heightPx });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [plan, heightPx, isDark]);
  return (
    <div class="chart-box">
      <div class="chart" role="img" aria-label={label} ref={place} />
      <button
        type="button"
        class="quiet"
        aria-label={`Save as PNG: ${label}`}
        onClick={() => place.current && savePng(place.current, label)}
      >
        Save as PNG
      </button>
    </div>
  );
}

/** Saves a chart as shown, on the page's background colour, with a title line above it. */
function savePng(place: HTMLElement, label: string): void {
  const chart = place.querySelector("canvas");
  if (!chart) return;
  const { paper, ink } = colorsOf(place);
  const pixel = devicePixelRatio;
  const titleHeight = 28 * pixel;
  const picture = document.createElement("canvas");
  picture.width = chart.width;
  picture.height = chart.height + titleHeight;
  const ctx = picture.getContext("2d");
  if (!ctx) return;
  ctx.fillStyle = paper;
  ctx.fillRect(0, 0, picture.width, picture.height);
  ctx.drawImage(chart, 0, titleHeight);
  ctx.fillStyle = ink;
  ctx.font = CHART_FONT.replace("12px", `${12 * pixel}px`);
  ctx.textBaseline = "middle";
  const heading = place.closest("section, main")?.querySelector("h2")?.textContent ?? "";
  ctx.fillText(`${heading}. ${label}`, 8 * pixel, titleHeight / 2, picture.width - 16 * pixel);
  const name = label.split(".")[0].toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").slice(0, 60);
  picture.toBlob((blob) => blob && saveFile(`${name}.png`, blob), "image/png");
}

function useIsDark(): boolean {
  const [query] = useState(() => matchMedia("(prefers-color-scheme: dark)"));
  const [isDark, setIsDark] = useState(query.matches);
  useEffect(() => {
    const listen = () => setIsDark(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  return isDark;
}

function colorsOf(element: Element): Colors {
  const style = getComputedStyle(element);
  return Object.fromEntries(
    COLOR_NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  ) as Colors;
}

/** A legend would repeat the readout, and zooming would hide what a link shows. */
export const PLAIN = { legend: { show: false }, cursor: { y: false, drag: { x: false, y: false } } } as const;

export const CHART_FONT = "12px system-ui, sans-serif";

export function axisStyle(colors: Colors, side: "below" | "left"): uPlot.Axis {
  return {
    size: side === "below" ? 32 : 48,
    gap: 4,
    stroke: colors.muted,
    font: CHART_FONT,
    grid: { show: side === "left", stroke: colors.rule, width: 1 },
    ticks: { stroke: colors.rule, width: 1, size: 4 },
  };
}

/** A colour such as `#0067a8` with an opacity from 0 to 1. */
export function faded(color: string, opacity: number): string {
  return color + Math.round(opacity * 255).toString(16).padStart(2, "0");
}
