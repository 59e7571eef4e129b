/** Exports: tables as CSV, charts as PNG, questions as curl commands. @module */
import { useEffect, useState } from "preact/hooks";
import { csvField } from "../../base/text.ts";

export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the URL after click() returns.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

type CsvValue = string | number | null;

/** Formats CSV (RFC 4180) with a header line. */
export function csvText(columns: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  const cell = (value: CsvValue) => typeof value === "string" ? csvField(value) : String(value ?? "");
  return [columns, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** @param rows Called on click. */
export function CsvButton({ name, columns, rows }: {
  name: string;
  columns: readonly string[];
  rows: () => readonly (readonly CsvValue[])[];
}) {
  const save = () => saveFile(`${name}.csv`, new Blob([csvText(columns, rows())], { type: "text/csv" }));
  return <button type="button" class="quiet" onClick={save}>Save as CSV</button>;
}

/** A curl command for a URL of the API, with texts quoted for a POSIX shell. */
export function curlCommand(url: string, body?: { type: string; text: string }): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  if (!body) return `curl ${quote(url)}`;
  return `curl ${quote(url)} -H ${quote(`content-type: ${body.type}`)} --data-binary ${quote(body.text)}`;
}

/** A curl command for a GET request. @param fields Null values are left out. */
export function curlGet(path: string, fields: Readonly<Record<string, unknown>>): string {
  const url = new URL(path, document.baseURI);
  url.hash = "";
  for (const [name, value] of Object.entries(fields)) {
    if (value !== null) url.searchParams.set(name, String(value));
  }
  return curlCommand(url.href);
}

export function curlPost(path: string, lines: readonly unknown[]): string {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return curlCommand(new URL(path, document.baseURI).href, { type: "application/x-ndjson", text });
}

/**
 * Copies a text. If the browser does not allow it, `text` is returned and should be shown.
 *
 * @param key The result is cleared when this changes.
 */
export function useCopy(name: string, key: string | undefined) {
  const [result, setResult] = useState<{ said: string; text?: string }>({ said: "" });
  useEffect(() => setResult({ said: "" }), [key]);
  const copy = async (text: string, note = "") => {
    try {
      await navigator.clipboard.writeText(text);
      setResult({ said: `${name} copied.${note}` });
    } catch {
      setResult({ said: `Copy this ${name.toLowerCase()}.${note}`, text });
    }
  };
  return { ...result, copy };
}

/** A button that copies a command. @param command False if no server can answer it. */
export function CurlButton({ command }: { command: (() => string) | false }) {
  const { said, text, copy } = useCopy("Command", command ? command() : undefined);
  if (!command) return null;
  return (
    <>
      <button type="button" class="quiet" onClick={() => copy(command())}>Copy as curl</button>
      <span role="status">{said}</span>
      {text === undefined ? null : <pre tabIndex={0} aria-label="Command">{text}</pre>}
    </>
  );
}
