/** Tables with row and column headings. @module */
import type { ComponentChildren } from "preact";

interface TableProps {
  class: string;
  caption?: string;
  columns: readonly string[];
  /** The cells of each row; the first is its heading. */
  rows: readonly (readonly ComponentChildren[])[];
  /** CSS class of each row, if they differ. */
  rowClasses?: readonly string[];
}

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

/** A table that scrolls if it is wider than the window. @param props `name`: for screen readers. */
export function ScrolledTable({ name, ...table }: TableProps & { name: string }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={name}>
      <Table {...table} />
    </div>
  );
}
