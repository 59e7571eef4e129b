/** A table of medians, coloured by how long they are; arrow keys move between its cells. @module */
import { useRef, useState } from "preact/hooks";
import type { LineError, RttApiAnswer } from "../api/schemas.ts";
import { quantileOf } from "./distribution_chart.tsx";
import { formatMs, formatPercent } from "./number_text.ts";

/** Shades of the table, from short to long; page.css has a class for each. */
const NUM_SHADES = 7;
/** Where arrow keys lead. */
const STEPS: Record<string, readonly [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** A place in the table, from 0. */
export interface Cell {
  row: number;
  column: number;
}

/** Which shade each of some RTTs has: evenly spread on a logarithmic scale from the shortest to the longest. */
export function shadesOf(rttsMs: readonly (number | undefined)[]): (number | undefined)[] {
  const logs = rttsMs.map((rttMs) => rttMs === undefined ? undefined : Math.log(Math.max(rttMs, 1e-3)));
  const known = logs.filter((log) => log !== undefined);
  const low = Math.min(...known);
  // Medians that hardly differ are all of one shade, and not the whole scale.
  const span = Math.max(Math.max(...known) - low, Math.log(1.2));
  return logs.map((log) =>
    log === undefined ? undefined : Math.min(NUM_SHADES - 1, Math.floor((log - low) / span * NUM_SHADES))
  );
}

/** See the module. */
export function MedianMatrix({ sources, destinations, answers, chosen, choose }: {
  sources: readonly string[];
  destinations: readonly string[];
  answers: readonly (RttApiAnswer | LineError)[];
  chosen: Cell | undefined;
  choose: (cell: Cell) => void;
}) {
  const [focus, setFocus] = useState<Cell>(chosen ?? { row: 0, column: 0 });
  const table = useRef<HTMLTableElement>(null);
  const shades = shadesOf(answers.map((answer) => "error" in answer ? undefined : quantileOf(answer, 0.5)));
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const row = Math.min(sources.length - 1, Math.max(0, focus.row + step[0]));
    const column = Math.min(destinations.length - 1, Math.max(0, focus.column + step[1]));
    setFocus({ row, column });
    table.current?.querySelector<HTMLElement>(`[data-cell="${row},${column}"]`)?.focus();
  };
  const errors = [...new Set(answers.flatMap((answer) => "error" in answer ? [answer.error] : []))];
  return (
    <>
      <p class="hint" id="matrix-hint">
        Median RTT and share of pings without a reply; the stronger the colour, the longer. Enter or a click
        shows the distribution, arrow keys move.
      </p>
      <div class="scroll">
        <table
          class="matrix"
          role="grid"
          aria-describedby="matrix-hint"
          aria-label="Medians"
          ref={table}
          onKeyDown={move}
        >
          <thead>
            <tr>
              <td>from \ to</td>
              {destinations.map((destination) => <th scope="col" key={destination}>{destination}</th>)}
            </tr>
          </thead>
          <tbody>
            {sources.map((source, row) => (
              <tr key={source}>
                <th scope="row">{source}</th>
                {destinations.map((destination, column) => {
                  const index = row * destinations.length + column;
                  const isFocus = focus.row === row && focus.column === column;
                  const isChosen = chosen?.row === row && chosen.column === column;
                  return (
                    <td key={destination} class={`shade-${shades[index] ?? "none"}`} aria-selected={isChosen}>
                      <button
                        type="button"
                        data-cell={`${row},${column}`}
                        tabIndex={isFocus ? 0 : -1}
                        aria-pressed={isChosen}
                        onFocus={() =>
                          setFocus({ row, column })}
                        onClick={() =>
                          choose({ row, column })}
                      >
                        <CellText answer={answers[index]} />
                      </button>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {errors.map((error) => <p class="fault" key={error}>{error}</p>)}
    </>
  );
}

function CellText({ answer }: { answer: RttApiAnswer | LineError }) {
  if ("error" in answer) return <>no answer</>;
  return (
    <>
      {formatMs(quantileOf(answer, 0.5))}
      <small>{formatPercent(answer.p_failed)} lost</small>
    </>
  );
}
