/** A table of numbers that can be scrolled where it is wider than the window. @module */

/**
 * A table of numbers.
 *
 * @param name A description, for those who do not see it.
 * @param columns Their headings.
 * @param rows Their cells; the first one of a row names it, and no two have the same.
 * @param class Further classes.
 */
export function NumberTable(
  { name, columns, rows, class: more = "" }: {
    name: string;
    columns: readonly string[];
    rows: readonly (readonly string[])[];
    class?: string;
  },
) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={name}>
      <table class={`numbers ${more}`.trim()}>
        <thead>
          <tr>{columns.map((column) => <th scope="col" key={column}>{column}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map(([first, ...rest]) => (
            <tr key={first}>
              <th scope="row">{first}</th>
              {rest.map((text, i) => <td key={i}>{text}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
