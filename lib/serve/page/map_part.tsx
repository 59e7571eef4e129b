/** The "Map" part of the page, first if the model knows places: RTTs from a source to everywhere. @module */
import { withName } from "../../data/addresses/ip_prefix.ts";
import { Figure, quantileOf } from "./rtt_result.tsx";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { heatNames, mapPoint, type MapView, WORLD, worldMap } from "../../base/report/world_map.ts";
import {
  describeMapRtt,
  HATCHED_TEXT,
  layerTitle,
  MAP_BOUNDS_MS,
  MAP_FORMATS,
  MAP_LAYERS,
  type MapLayer,
  picturePlaces,
  SHAPE_CREDIT,
} from "../../query/rtt/map_format.ts";
import type { MapLevel, MapRtt } from "../../query/rtt/rtt_map.ts";
import type { PingApi } from "../api/ping_service.ts";
import type { AnswerOf } from "../../query/questions/questions.ts";
import { BasisBadge } from "./basis.tsx";
import { moved, showing, viewOf, zoomed, zoomOf } from "./map_view.ts";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import { besideField, type PartProps, Question, readTime, SearchField, TimeField } from "./fields.tsx";
import { WhereIs } from "./place_part.tsx";
import { ScrolledTable } from "./table.tsx";
import { formatCount, formatMs, formatRange, formatTime } from "../../base/text.ts";
import { formatPercent } from "./texts.ts";
import { CurlButton, curlGet, saveFile } from "./saved_files.tsx";

/** Places per request: one or two seconds on two cores. Levels are in drawing order. */
const PLACES_AT_ONCE: Readonly<Record<MapLevel, number>> = { country: 64, cell: 256 };

/** A map, possibly incomplete. */
interface ShownMap {
  src: string;
  srcName: string | undefined;
  timeS: number | null;
  position: AnswerOf<"map">["position"];
  /** Countries, then cells. */
  places: readonly MapRtt[];
  progress: string;
}

/** Requests a map in parts: first the countries, then the cells in them. */
async function askMap(
  api: PingApi,
  asked: { src: string; time: number | null },
  { signal, report }: { signal: AbortSignal; report: (map: ShownMap) => void },
): Promise<ShownMap> {
  const places: MapRtt[] = [];
  let map: ShownMap | undefined;
  for (const level of Object.keys(PLACES_AT_ONCE) as MapLevel[]) {
    for (let first = 0, total = Infinity; first < total; first += PLACES_AT_ONCE[level]) {
      const part = await api.map({ ...asked, level, first, count: PLACES_AT_ONCE[level] }, signal);
      total = part.total;
      places.push(...part.places);
      const done = Math.min(total, first + PLACES_AT_ONCE[level]);
      const progress = `${formatCount(done)} of ${formatCount(total)} ${
        level === "cell" ? "cells" : "countries"
      }`;
      const { src, src_name: srcName, time: timeS, position } = part;
      map = { src, srcName, timeS, position, places: [...places], progress };
      report(map);
    }
  }
  return map as ShownMap;
}

export function MapPart(part: PartProps) {
  const { fields, askedAtMs, opened: { api, hasServer }, model } = part;
  const isAsked = fields.src !== undefined;
  const { time, faults } = readTime(fields, [], askedAtMs);
  const examples = model.value?.examples.map(({ src }) => src) ?? [];
  // Place files often cover IPv4 addresses only.
  const example = examples.find((each) => !each.includes(":")) ?? examples[0];
  const src = isAsked ? fields.src?.trim() : example;
  const question = src !== undefined && faults.time === undefined ? { src, time } : null;
  const { answer, faults: told } = besideField(useAnswer<ShownMap>(
    question && JSON.stringify(["map", question]),
    (signal, report) => askMap(api, question as NonNullable<typeof question>, { signal, report }),
  ));
  const { value: map, isBusy } = answer;
  const isOld = map !== undefined && (map.src !== src || map.timeS !== time);
  const layer = MAP_LAYERS.find((each) => each === fields.layer) ?? "median";
  const geoFiles = sourcesOfPlaces(model.value?.config);
  const labels = useMemo(() => labelsOf(map?.places ?? []), [map]);
  const dst = fields.dst?.trim() ?? "";
  // The map's own request covers the places that it shows.
  const isSought = question !== null && dst !== "" && !labels.includes(dst);
  const { answer: sought, faults: soughtFaults } = besideField(useAnswer<FoundDestination>(
    isSought ? JSON.stringify(["destination", question, dst]) : null,
    (signal) => askDestination(api, { ...question as NonNullable<typeof question>, dst }, signal),
  ));
  const found = isSought ? sought.value : undefined;
  return (
    <>
      <Question part={part} verb="Draw the map">
        <div class="row">
          <SearchField
            part={part}
            faults={told}
            name="src"
            label="From"
            placeholder="192.0.2.1"
            hint="An address, a prefix, a city with the code of its country (NAME, CC), a country, or a network (AS3320, AS3320@DE). Host names are not resolved, because that would query other servers: enter the address."
          />
          <SearchField
            part={part}
            faults={soughtFaults}
            name="dst"
            label="Find on the map"
            placeholder="198.51.100.7"
            hint="A destination to mark with its RTT: any of these, or a name."
            onTaken={(dst) => part.submit({ dst })}
          />
          <TimeField part={part} faults={faults} />
        </div>
      </Question>
      <AnswerState
        answer={{ ...sought, value: found }}
        doing={`Asking for ${dst}`}
        summary={({ median_ms, title }) => `Median to ${title}: ${formatMs(median_ms)}.`}
      >
        {() => found ? <Chosen place={found} part={part} /> : null}
      </AnswerState>
      <AnswerState
        answer={{ ...answer, value: isBusy ? undefined : map }}
        doing={map && !isOld ? `Drawing the map: ${map.progress}` : "Drawing the map"}
        summary={({ places }) => `The map has ${places.length} places.`}
      >
        {() => null}
      </AnswerState>
      {map && (
        <section class={isOld ? "old" : ""} aria-busy={isBusy} aria-labelledby="map-title">
          <h2 id="map-title">{isAsked ? "" : "Example: "}From {withName(map.src, map.srcName)}</h2>
          {isGuess(map) && (
            <p class="basis">
              <BasisBadge kind="guess" /> The source was never measured, or nothing on the map was.
            </p>
          )}
          <Layers part={part} layer={layer} />
          <Map map={map} layer={layer} part={part} labels={labels} dot={found?.position ?? undefined} />
          <div class="tools">
            <button type="button" class="quiet" onClick={() => saveMap("csv", map, layer, geoFiles)}>
              Save as CSV
            </button>
            <button type="button" class="quiet" onClick={() => saveMap("svg", map, layer, geoFiles)}>
              Save as SVG
            </button>
            <CurlButton
              command={hasServer && question !== null &&
                (() => curlGet("v1/map", { ...question, level: "cell" }))}
            />
          </div>
          <WhereIs key={map.src} api={api} src={map.src} />
          <p class="hint">
            {formatTime(map.timeS)}. <a href={SHAPE_CREDIT.url}>{SHAPE_CREDIT.text}</a>.
          </p>
        </section>
      )}
    </>
  );
}

/** Names of the place files in a model's configuration; empty if the model has no places. */
export function sourcesOfPlaces(config: Record<string, unknown> | undefined): string[] {
  const { places } = (config?.model ?? {}) as { places?: { sources?: string[] } | null };
  return places?.sources ?? [];
}

/** Saves a map as `query map` writes it. */
function saveMap(format: "csv" | "svg", map: ShownMap, layer: MapLayer, geoFiles: readonly string[]): void {
  const { src, srcName, places, position } = map;
  const file = { src: withName(src, srcName), places, layer, mark: position ?? undefined, geoFiles };
  const type = format === "svg" ? "image/svg+xml" : "text/csv";
  saveFile(`map.${format}`, new Blob([MAP_FORMATS.get(format)?.(file) ?? ""], { type }));
}

/** Selects the quantity that shades the map. */
function Layers({ part, layer }: { part: PartProps; layer: MapLayer }) {
  const names = { median: "Median RTT", interval: "Uncertainty: width of the 90 % interval" };
  return (
    <fieldset class="layers">
      <legend class="unseen">Quantity that shades the map</legend>
      {MAP_LAYERS.map((each) => (
        <label key={each}>
          <input
            type="radio"
            name="layer"
            checked={layer === each}
            onChange={() => part.submit({ layer: each })}
          />{" "}
          {names[each]}
        </label>
      ))}
    </fieldset>
  );
}

/** The map, a description of the place under the pointer or focus, the legend, and tables. */
function Map({ map, layer, part, labels, dot }: {
  map: ShownMap;
  layer: MapLayer;
  part: PartProps;
  /** See {@link labelsOf}. */
  labels: readonly string[];
  /** Position of the destination that was searched for. */
  dot: AnswerOf<"map">["position"] | undefined;
}) {
  const { places, position } = map;
  const src = withName(map.src, map.srcName);
  const box = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<number>();
  const svg = useMemo(
    () =>
      worldMap(picturePlaces(places, layer), {
        title: layerTitle(layer, src),
        bounds: MAP_BOUNDS_MS,
        mark: position ?? undefined,
        dot: dot ?? undefined,
      }),
    [map, layer, dot],
  );
  // Until the user moves it, the view shows what was measured.
  const home = useMemo(() => homeOf(map), [map]);
  const [view, setView] = useState<MapView>();
  useEffect(() => setView(undefined), [map.src]);
  const shownView = view ?? home;
  const dragged = useZoom(box, shownView, setView);
  useEffect(() => {
    const { x, y, width, height } = shownView;
    const picture = box.current?.querySelector("svg");
    picture?.setAttribute("viewBox", [x, y, width, height].map((each) => each.toFixed(1)).join(" "));
    picture?.style.setProperty("--zoom", zoomOf(shownView).toFixed(3));
  }, [svg, shownView]);
  const found = labels.indexOf(part.fields.dst ?? "");
  const chosen = found < 0 ? undefined : places[found];
  // The picture is HTML text, so changes between two drawings are applied to its elements here.
  const focused = useRef<string | undefined>(undefined);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const countries = [...element.querySelectorAll<SVGElement>(".country")];
    const current = countries.find((each) => each.dataset.place === focused.current) ?? countries[0];
    current?.setAttribute("tabindex", "0");
    if (focused.current !== undefined && document.activeElement === document.body) current?.focus();
    for (const each of element.querySelectorAll(".chosen")) each.classList.remove("chosen");
    element.querySelector(`[data-place="${found}"]`)?.classList.add("chosen");
  }, [svg, found]);
  const move = (event: KeyboardEvent) => {
    const from = placeAt(event.target);
    if (from === undefined) return;
    const step = STEPS[event.key];
    if (step) focusOn(nextCountry(places, from, step));
    else if (event.key === "Enter" || event.key === " ") choose(from);
    else return;
    event.preventDefault();
  };
  const focusOn = (index: number | undefined) => {
    if (index === undefined) return;
    const countries = [...box.current?.querySelectorAll<SVGElement>(".country") ?? []];
    for (const each of countries) {
      each.setAttribute("tabindex", each.dataset.place === `${index}` ? "0" : "-1");
    }
    countries.find((each) => each.dataset.place === `${index}`)?.focus();
  };
  const choose = (index: number) => part.submit({ dst: labels[index] });
  const shown = pointed === undefined ? chosen : places[pointed];
  return (
    <>
      <figure>
        <figcaption id="map-hint">
          {layerTitle(layer, src)}. {dot ? "The ring is the source, the dot the destination. " : ""}
          <span class="for-mouse">
            Scroll to zoom, drag to move. Arrow keys go from country to country, Enter or a click selects a
            place.
          </span>
          <span class="for-touch">Two fingers zoom and move the map, a tap selects a place.</span>
        </figcaption>
        <div
          class={isGuess(map) ? "world guess" : "world"}
          ref={box}
          aria-describedby="map-hint"
          // The renderer escapes the names in the picture.
          // deno-lint-ignore react-no-danger
          dangerouslySetInnerHTML={{ __html: svg }}
          onPointerOver={({ target }) => setPointed(placeAt(target))}
          onPointerLeave={() => setPointed(undefined)}
          onFocusIn={({ target }) => {
            const index = placeAt(target);
            focused.current = index === undefined ? undefined : `${index}`;
            setPointed(index);
            if (index !== undefined && placeIsFocused(target)) setView(showing(shownView, places[index]));
          }}
          onFocusOut={({ relatedTarget }) => {
            // Redrawing the picture drops the focus without a related target.
            if (relatedTarget instanceof Element) focused.current = undefined;
          }}
          onClick={({ target }) => {
            const index = placeAt(target);
            if (index !== undefined && !dragged.current) choose(index);
          }}
          onKeyDown={move}
        />
        <div class="zoom" role="group" aria-label="Visible part of the map">
          <button type="button" class="quiet" onClick={() => setView(zoomed(shownView, 2))}>Zoom in</button>
          <button type="button" class="quiet" onClick={() => setView(zoomed(shownView, 0.5))}>
            Zoom out
          </button>
          <button type="button" class="quiet" onClick={() => setView(WORLD)}>Whole world</button>
          {home === WORLD
            ? null
            : <button type="button" class="quiet" onClick={() => setView(home)}>Measured part</button>}
        </div>
        <p class="pointed" aria-hidden="true">
          {shown ? describeMapRtt(shown) : (
            <>
              <span class="for-mouse">Point at a place.</span>
              <span class="for-touch">Tap a place.</span>
            </>
          )}
        </p>
        <Legend />
      </figure>
      {chosen && <Chosen place={{ ...chosen, title: titleOf(chosen) }} part={part} />}
      <Tables places={places} chosen={chosen} />
    </>
  );
}

function isGuess({ places }: ShownMap): boolean {
  return places.every(({ basis }) => basis === "guess");
}

/** The view that shows the measured addresses. */
function homeOf({ places }: ShownMap): MapView {
  const countries = places.filter(({ cell_degrees, known_addresses }) =>
    cell_degrees === null && known_addresses > 0
  );
  return viewOf(countries.map((place) => ({ ...place, weight: place.known_addresses })));
}

/** True for keyboard focus only: a clicked place is already in view. */
function placeIsFocused(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches(":focus-visible");
}

/** Pixels that the pointer must move to start dragging. */
const DRAG_PX = 4;

/**
 * Lets the wheel and two fingers zoom a map, and the mouse move it.
 *
 * @returns Ref that is true if the last press dragged the map and so was not a click.
 */
function useZoom(box: { current: HTMLDivElement | null }, view: MapView, setView: (view: MapView) => void) {
  const current = useRef(view);
  current.current = view;
  const dragged = useRef(false);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const abort = new AbortController();
    const set = (next: MapView) => setView(current.current = next);
    const shareAt = ({ clientX, clientY }: Pick<MouseEvent, "clientX" | "clientY">) => {
      const { left, top, width, height } = element.getBoundingClientRect();
      return { x: (clientX - left) / width, y: (clientY - top) / height };
    };
    const listen = <K extends keyof HTMLElementEventMap>(
      name: K,
      act: (event: HTMLElementEventMap[K]) => void,
    ) => element.addEventListener(name, act, { signal: abort.signal, passive: false });
    listen("wheel", (event) => {
      const next = zoomed(current.current, 2 ** (-event.deltaY / 300), shareAt(event));
      // If the map cannot zoom out further, the page scrolls.
      if (next.width === current.current.width && event.deltaY > 0) return;
      event.preventDefault();
      set(next);
    });
    let pressed: { x: number; y: number; view: MapView } | undefined;
    listen("pointerdown", (event) => {
      dragged.current = false;
      if (event.pointerType === "mouse" && event.button === 0) {
        pressed = { ...shareAt(event), view: current.current };
      }
    });
    listen("pointermove", (event) => {
      if (!pressed || !(event.buttons & 1)) return;
      const { x, y } = shareAt(event);
      const [byX, byY] = [pressed.x - x, pressed.y - y];
      if (Math.hypot(byX, byY) * element.clientWidth > DRAG_PX) dragged.current = true;
      if (dragged.current) set(moved(pressed.view, byX, byY));
    });
    // The midpoint of two fingers and the distance between them.
    const fingersOf = ({ touches }: TouchEvent) => {
      const [a, b] = [touches[0], touches[1]].map(shareAt);
      return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.hypot(a.x - b.x, a.y - b.y) };
    };
    let fingers: ReturnType<typeof fingersOf> | undefined;
    listen("touchstart", (event) => fingers = event.touches.length === 2 ? fingersOf(event) : undefined);
    listen("touchmove", (event) => {
      if (!fingers || event.touches.length !== 2) return;
      event.preventDefault();
      const now = fingersOf(event);
      const shifted = moved(current.current, fingers.x - now.x, fingers.y - now.y);
      set(zoomed(shifted, now.apart / fingers.apart, now));
      fingers = now;
    });
    return () => abort.abort();
  }, []);
  return dragged;
}

/** Index of the place that an element of the map belongs to. */
function placeAt(target: EventTarget | null): number | undefined {
  const place = target instanceof Element
    ? target.closest<SVGElement>("[data-place]")?.dataset.place
    : undefined;
  return place === undefined ? undefined : Number(place);
}

/** Texts that identify places in questions: names, or positions for repeated names. */
function labelsOf(places: readonly MapRtt[]): string[] {
  const seen = new Set<string>();
  return places.map(({ cell_degrees, name, country, latitude, longitude }) => {
    const label = cell_degrees === null ? name : `${name}, ${country}`;
    const own = seen.has(label) ? `${latitude},${longitude}` : label;
    seen.add(own);
    return own;
  });
}

const STEPS: Partial<Record<string, readonly [x: number, y: number]>> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
};

/** The nearest country in a direction, preferring those straight ahead; undefined if there is none. */
function nextCountry(
  places: readonly MapRtt[],
  from: number,
  [stepX, stepY]: readonly [number, number],
): number | undefined {
  const start = mapPoint(places[from]);
  let [best, least]: [number | undefined, number] = [undefined, Infinity];
  places.forEach((place, i) => {
    if (place.cell_degrees !== null || i === from) return;
    const { x, y } = mapPoint(place);
    const [ahead, aside] = [
      (x - start.x) * stepX + (y - start.y) * stepY,
      Math.abs((x - start.x) * stepY) + Math.abs((y - start.y) * stepX),
    ];
    const far = ahead + 3 * aside;
    if (ahead <= 0 || aside > 2 * ahead || far >= least) return;
    [best, least] = [i, far];
  });
  return best;
}

function Legend() {
  return (
    <ul class="heats" aria-label="Colours">
      {heatNames(MAP_BOUNDS_MS, "ms").map((name, i) => (
        <li key={name}>
          <span class="heat" style={{ background: `var(--heat${i})` }} aria-hidden="true" /> {name}
        </li>
      ))}
      <li>
        <span class="heat heat-none" aria-hidden="true" /> no address known
      </li>
      <li>
        <span class="heat heat-hatched" aria-hidden="true" /> {HATCHED_TEXT}
      </li>
    </ul>
  );
}

function titleOf({ name, country, cell_degrees }: MapRtt): string {
  return cell_degrees === null ? name : `Near ${name}, ${country}`;
}

/** A destination that was chosen or searched for, with its numbers. */
interface FoundDestination extends Pick<MapRtt, "median_ms" | "low_ms" | "high_ms" | "p_failed" | "basis"> {
  readonly title: string;
  /** Absent for a place on the map, null if unknown. */
  readonly position?: AnswerOf<"map">["position"];
}

/** Asks about a destination that is not on the map. */
async function askDestination(
  api: PingApi,
  question: { src: string; dst: string; time: number | null },
  signal: AbortSignal,
): Promise<FoundDestination> {
  const { dst } = question;
  const [answer, { places }] = await Promise.all([
    api.rtt({ ...question, quantiles: [0.05, 0.5, 0.95] }, signal),
    api.places({ q: dst }, signal),
  ]);
  const [low_ms, median_ms, high_ms] = [0.05, 0.5, 0.95].map((q) => quantileOf(answer, q));
  const { position = null } = places.find(({ text }) => text === dst) ?? places[0] ?? {};
  const title = withName(dst, answer.dst_name);
  return { title, position, median_ms, low_ms, high_ms, p_failed: answer.p_failed, basis: answer.basis.kind };
}

function Chosen({ place, part }: { place: FoundDestination; part: PartProps }) {
  const { title, median_ms, low_ms, high_ms, p_failed, basis } = place;
  return (
    <section aria-labelledby="chosen-place">
      <h2 id="chosen-place">{title}</h2>
      <p class="basis">
        <BasisBadge kind={basis} />
      </p>
      <dl class={`figures ${basis}`}>
        <Figure name="Median" value={formatMs(median_ms)} />
        <Figure name="90 % of the replies" value={formatRange(low_ms, high_ms)} />
        <Figure name="No reply" value={formatPercent(p_failed)} />
      </dl>
      <div class="tools">
        <button
          type="button"
          class="quiet"
          onClick={() => part.submit({ src: part.fields.dst ?? "", dst: "" })}
        >
          Map from here
        </button>
      </div>
    </section>
  );
}

/** The map's numbers as tables: the countries, and the cells of the chosen country. */
function Tables({ places, chosen }: { places: readonly MapRtt[]; chosen: MapRtt | undefined }) {
  const table = (name: string, rows: readonly MapRtt[]) => (
    <ScrolledTable
      name={name}
      class="numbers"
      columns={["Place", "Median", "90 % of replies", "No reply", "Measured addresses", "Basis"]}
      rows={rows.map((place) => [
        place.cell_degrees === null ? place.name : `${place.name} (${place.latitude}, ${place.longitude})`,
        formatMs(place.median_ms),
        formatRange(place.low_ms, place.high_ms),
        formatPercent(place.p_failed),
        String(place.known_addresses),
        place.basis,
      ])}
    />
  );
  const countryOf = ({ country }: MapRtt) =>
    places.find((place) => place.cell_degrees === null && place.country === country)?.name ?? country;
  const countries = places.filter(({ cell_degrees }) => cell_degrees === null)
    .sort((a, b) => a.name < b.name ? -1 : 1);
  const cells = places.filter(({ cell_degrees, country }) =>
    cell_degrees !== null && country === chosen?.country
  );
  return (
    <>
      <details>
        <summary>Countries as a table</summary>
        {table("Countries", countries)}
      </details>
      {chosen && cells.length > 0 && (
        <details>
          <summary>Cells of {countryOf(chosen)} as a table</summary>
          {table("Cells", cells)}
        </details>
      )}
    </>
  );
}
