/** Describes the HTTP API for people, from the server's `openapi.json` (OpenAPI 3.1). @module */
import { render } from "preact";
import type { ModelAnswer } from "../api/schemas.ts";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import { CurlButton, curlCommand } from "./saved_files.tsx";
import { ScrolledTable } from "./table.tsx";

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
}
interface Content {
  content?: Record<string, { schema?: Schema }>;
  description?: string;
}
/** A URL parameter or a field of a body. */
interface Field {
  name: string;
  required?: boolean | undefined;
  schema?: Schema;
  description?: string | undefined;
}
interface Operation {
  summary?: string;
  parameters?: Field[];
  requestBody?: Content;
  responses?: Record<string, Content>;
}
interface OpenApi {
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema> };
}

/** Example addresses if the model has none. */
const PAIR = { src: "192.0.2.1", dst: "198.51.100.7" };

async function readJson<T>(path: string, signal: AbortSignal): Promise<T> {
  const response = await fetch(path, { signal });
  if (!response.ok) {
    throw new Error(`Cannot read ${path}: the server answered ${response.status}; load the page again`);
  }
  return await response.json() as T;
}

function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

/** Describes a type in words, such as `list of numbers, at least 0`. */
function typeText(schema: Schema | undefined): string {
  if (!schema) return "any value";
  const { $ref, type, items, anyOf, enum: values, minimum, maximum } = schema;
  if ($ref !== undefined) return nameOf($ref);
  if (anyOf) return [...new Set(anyOf.map(typeText))].join(" or ");
  if (values) return values.map((value) => JSON.stringify(value)).join(" or ");
  if (type === "array") return `list of ${typeText(items)}`;
  const isSafe = (bound: number | undefined) => bound !== undefined && Math.abs(bound) < 2 ** 53 - 1;
  const bounds = [
    ...(isSafe(minimum) ? [`at least ${minimum}`] : []),
    ...(isSafe(maximum) ? [`at most ${maximum}`] : []),
  ];
  return [[type ?? "any value"].flat().join(" or "), ...bounds].join(", ");
}

function exampleOf(name: string, pair: typeof PAIR): unknown {
  if (name === "src" || name === "dst") return pair[name];
  return name === "rtt" ? 20 : undefined;
}

function exampleCommand(
  path: string,
  method: string,
  operation: Operation,
  api: OpenApi,
  pair: typeof PAIR,
): string {
  const url = new URL(path.slice(1), document.baseURI);
  for (const { name, required, schema } of operation.parameters ?? []) {
    const value = required ? exampleOf(name, pair) : undefined;
    const isRange = name === "rtt" && schema?.type === "string";
    if (value !== undefined) url.searchParams.set(name, isRange ? "20..25" : String(value));
  }
  const [type, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  if (method !== "post" || !type || !body) return curlCommand(url.href);
  const schema = resolve(body.schema, api);
  const fields = Object.entries(schema?.properties ?? {}).flatMap(([name, field]) => {
    if (!schema?.required?.includes(name)) return [];
    const value = exampleOf(name, pair);
    return value === undefined ? [] : [[name, name === "rtt" && field.type === "array" ? [20, 25] : value]];
  });
  const text = JSON.stringify(Object.fromEntries(fields));
  return curlCommand(url.href, { type, text: type.includes("ndjson") ? `${text}\n` : text });
}

function resolve(schema: Schema | undefined, api: OpenApi): Schema | undefined {
  return schema?.$ref === undefined ? schema : api.components?.schemas?.[nameOf(schema.$ref)];
}

function Docs() {
  const api = useAnswer("openapi", (signal) => readJson<OpenApi>("openapi.json", signal));
  // Only for examples: the page is complete without the model.
  const model = useAnswer("model", (signal) => readJson<ModelAnswer>("v1/model", signal));
  const pair = model.value?.examples?.[0] ?? PAIR;
  return (
    <>
      <header>
        <p class="name">ping-llm</p>
        <nav aria-label="Parts">
          <ul>
            <li>
              <a href="./">Ask the model</a>
            </li>
            <li>
              <a href="docs" aria-current="page">HTTP API</a>
            </li>
          </ul>
        </nav>
      </header>
      <main id="main">
        <h1>The HTTP API</h1>
        <AnswerState answer={api} doing="Reading openapi.json">
          {(found) => <Description api={found} pair={pair} />}
        </AnswerState>
      </main>
    </>
  );
}

function Description({ api, pair }: { api: OpenApi; pair: typeof PAIR }) {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
  );
  return (
    <>
      <p>
        {api.info.description} Version {api.info.version}. Programs read the same from{" "}
        <a href="openapi.json">openapi.json</a>. Times are Unix seconds or ISO 8601, RTTs milliseconds; an RTT
        of null is a ping without a reply. Bodies are JSON or JSON lines (application/x-ndjson).
      </p>
      {operations.map(({ path, method, operation }) => (
        <section class="operation" key={`${method} ${path}`}>
          <h3>
            <code>{method.toUpperCase()} {path}</code>
          </h3>
          <p>{sentence(operation.summary)}</p>
          <pre tabIndex={0} aria-label="Example">{exampleCommand(path, method, operation, api, pair)}</pre>
          <div class="tools">
            <CurlButton command={() => exampleCommand(path, method, operation, api, pair)} />
          </div>
          <Details operation={operation} />
        </section>
      ))}
      <h2>Types</h2>
      {Object.entries(api.components?.schemas ?? {}).map(([name, schema]) => (
        <section class="operation" key={name} id={name}>
          <h3>
            <code>{name}</code>
          </h3>
          <FieldTable
            name={name}
            rows={Object.entries(schema.properties ?? {}).map(([name, each]) => ({
              name,
              required: schema.required?.includes(name),
              schema: each,
              description: each.description,
            }))}
          />
        </section>
      ))}
    </>
  );
}

function Details({ operation: { parameters = [], requestBody, responses = {} } }: { operation: Operation }) {
  return (
    <>
      <FieldTable name="Parameters" rows={parameters} />
      {requestBody && (
        <p>
          Body: <Types content={requestBody} />.
        </p>
      )}
      {Object.entries(responses).map(([status, response]) =>
        status === "200"
          ? (
            <p key={status}>
              Answer: <Types content={response} />.
            </p>
          )
          : null
      )}
      <p class="hint">
        Errors (Problem): {Object.entries(responses).filter(([status]) => status !== "200")
          .map(([status, { description }]) => `${status} ${description ?? ""}`.trim()).join("; ")}.
      </p>
    </>
  );
}

/** The types of a body. Known types link to their fields. */
function Types({ content: { content = {} } }: { content: Content }) {
  return (
    <>
      {Object.entries(content).map(([media, { schema }]) => {
        const schemas = schema?.anyOf ?? (schema ? [schema] : []);
        return (
          <span key={media}>
            {schemas.map((each, i) => (
              <span key={i}>
                {i === 0 ? "" : " or "}
                {each.$ref ? <a href={`#${nameOf(each.$ref)}`}>{nameOf(each.$ref)}</a> : typeText(each)}
              </span>
            ))} as {media}
          </span>
        );
      })}
    </>
  );
}

function FieldTable({ name, rows }: { name: string; rows: readonly Field[] }) {
  if (rows.length === 0) return null;
  return (
    <ScrolledTable
      name={name}
      class="fields"
      columns={["Name", "Type", "Required", "Meaning"]}
      rows={rows.map(({ name, required, schema, description }) => [
        <code key="name">{name}</code>,
        typeText(schema),
        required ? "yes" : "no",
        description,
      ])}
    />
  );
}

/** Adds an initial capital and a final full stop. */
function sentence(text: string | undefined): string {
  return text ? `${text[0].toUpperCase()}${text.slice(1).replace(/\.$/, "")}.` : "";
}

render(<Docs />, document.getElementById("app") as HTMLElement);
