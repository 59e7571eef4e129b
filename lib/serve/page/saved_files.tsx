/** Downloads: tables as CSV, charts as PNG, questions as commands of curl. @module */
import { useEffect, useState } from "preact/hooks";
import { csvField } from "../../base/text.ts";

/** Has the browser save a file. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the URL after the click returns.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A cell of CSV; null is an empty one. */
type CsvValue = string | number | null;

/** Writes CSV (RFC 4180) with a header line. */
export function csvText(columns: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  const cell = (value: CsvValue) => typeof value === "string" ? csvField(value) : String(value ?? "");
  return [columns, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** A button that saves a table. @param rows Called at the click. */
export function CsvButton({ name, columns, rows }: {
  name: string;
  columns: readonly string[];
  rows: () => readonly (readonly CsvValue[])[];
}) {
  const save = () => saveFile(`${name}.csv`, new Blob([csvText(columns, rows())], { type: "text/csv" }));
  return <button type="button" class="quiet" onClick={save}>Save as CSV</button>;
}

/** A path of the API as a command of curl, each text in quotes of a POSIX shell. */
export function curlCommand(url: string, body?: { type: string; text: string }): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  if (!body) return `curl ${quote(url)}`;
  return `curl ${quote(url)} -H ${quote(`content-type: ${body.type}`)} --data-binary ${quote(body.text)}`;
}

/** A GET of the API as a command of curl. @param fields Null ones are left out. */
export function curlGet(path: string, fields: Readonly<Record<string, string | number | null>>): string {
  const url = new URL(path, document.baseURI);
  url.hash = "";
  for (const [name, value] of Object.entries(fields)) {
    if (value !== null) url.searchParams.set(name, String(value));
  }
  return curlCommand(url.href);
}

/** A POST of JSON, or of lines of JSON, as a command of curl. */
export function curlPost(path: string, body: unknown, isLines = false): string {
  const text = isLines
    ? (body as unknown[]).map((line) => `${JSON.stringify(line)}\n`).join("")
    : JSON.stringify(body);
  const type = isLines ? "application/x-ndjson" : "application/json";
  return curlCommand(new URL(path, document.baseURI).href, { type, text });
}

/** A button that copies a command; where the browser does not allow that, shows it. */
export function CurlButton({ command }: { command: () => string }) {
  const [result, setResult] = useState<{ said: string; text?: string }>({ said: "" });
  useEffect(() => setResult({ said: "" }), [command()]);
  const copy = async () => {
    const text = command();
    try {
      await navigator.clipboard.writeText(text);
      setResult({ said: "Command copied." });
    } catch {
      setResult({ said: "Copy this command:", text });
    }
  };
  return (
    <>
      <button type="button" class="quiet" onClick={copy}>Copy as curl</button>
      <span role="status">{result.said}</span>
      {result.text === undefined ? null : <pre tabIndex={0} aria-label="Command">{result.text}</pre>}
    </>
  );
}
