/** Tables. @module */
import type { ComponentChildren } from "preact";

interface TableProps {
  class: string;
  caption?: string;
  columns: readonly string[];
  /** Their cells; the first one of a row names it. */
  rows: readonly (readonly ComponentChildren[])[];
  /** The class of each row, if they differ. */
  rowClasses?: readonly string[];
}

/** A table whose rows and columns have headings. */
export function Table({ class: name, caption, columns, rows, rowClasses = [] }: TableProps) {
  return (
    <table class={name}>
      {caption === undefined ? null : <caption>{caption}</caption>}
      <thead>
        <tr>{columns.map((column) => <th scope="col" key={column}>{column}</th>)}</tr>
      </thead>
      <tbody>
        {rows.map(([first, ...rest], i) => (
          <tr key={i} class={rowClasses[i]}>
            <th scope="row">{first}</th>
            {rest.map((cell, k) => <td key={k}>{cell}</td>)}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A table that can be scrolled if it is wider than the window. @param props `name`: for screen readers. */
export function ScrolledTable({ name, ...table }: TableProps & { name: string }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={name}>
      <Table {...table} />
    </div>
  );
}
