import { assertEquals } from "@std/assert";
import { openApiDocument } from "../../lib/serve/openapi.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { PAIR, PAIR_QUERY, TestServer } from "./test_server.ts";

interface Operation {
  operationId: string;
  responses: { 200: { content: object } };
}

async function run(program: string, args: string[], cwd?: string) {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args,
    ...(cwd !== undefined && { cwd }),
    env: { NO_COLOR: "1" },
  }).output();
  return { code, text: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

Deno.test("openapi-typescript generates types from the description that a client compiles with", async () => {
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("openapi.json"), JSON.stringify(openApiDocument()));
  Deno.writeTextFileSync(folder.at("deno.json"), "{}");
  const args = ["run", "-A", "--no-lock", "npm:openapi-typescript@7.13.0", "openapi.json", "-o", "api.ts"];
  const made = await run(Deno.execPath(), args, folder.path);
  assertEquals(made.code, 0, made.text);
  Deno.writeTextFileSync(
    folder.at("client.ts"),
    `import type { components, operations } from "./api.ts";
export const question: components["schemas"]["DestinationsQuestion"] = { src: "192.0.2.1", rtt: [20, 25] };
export const query: operations["getRtt"]["parameters"]["query"] = { src: "192.0.2.1", dst: "::1" };
export const median = (answer: components["schemas"]["RttAnswer"]): number => answer.quantiles_ms["0.5"];
`,
  );
  const checked = await run(Deno.execPath(), ["check", "client.ts"], folder.path);
  assertEquals(checked.code, 0, checked.text);
});

const hasPythonGenerator = await run("python3", ["-c", "import openapi_python_client"]).then(
  ({ code }) => code === 0,
  () => false,
);
if (!hasPythonGenerator) {
  console.log("left out: openapi-python-client was not found; pip install openapi-python-client installs it");
}

Deno.test({
  name: "openapi-python-client generates a client, without JSON lines, that runs the program of CLIENTS.md",
  ignore: !hasPythonGenerator,
  fn: () =>
    withCheckpoint(async (_, checkpoint) => {
      await using server = await TestServer.start(checkpoint);
      using folder = new TemporaryFolder();
      const page = Deno.readTextFileSync(new URL("../../lib/serve/CLIENTS.md", import.meta.url));
      const [, command, program] =
        /^openapi-python-client (generate .*)\n```\n\n```python\n([^]*?)```/m.exec(page) ?? [];
      const here = (text: string) => text.replace("http://localhost:8080/", server.url);
      const generate = ["-m", "openapi_python_client", ...here(command).split(" ")];
      const made = await run("python3", generate, folder.path);
      assertEquals(made.code, 0, made.text);
      const operations = Object.values(openApiDocument().paths as Record<string, Record<string, Operation>>)
        .flatMap((methods) => Object.values(methods)).filter(({ responses: { 200: { content } } }) =>
          !("application/x-ndjson" in content)
        );
      const names = operations.map(({ operationId }) =>
        `${operationId.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}.py`
      );
      const modules = [...Deno.readDirSync(folder.at("ping_llm/api/default"))].map(({ name }) => name);
      assertEquals(modules.filter((name) => name !== "__init__.py").sort(), names.sort());
      const { code, text } = await run("python3", ["-c", here(program)], folder.path);
      assertEquals(code, 0, text);
      const rtt = await (await server.fetch(`/v1/rtt?${PAIR_QUERY}&quantiles=0.5,0.9`)).json();
      const context = [{ ...PAIR, time: 1750766400, rtt: 21.5 }];
      const known = await (await server.post("/v1/rtt", { ...PAIR, context })).json();
      const { detail } = await (await server.fetch("/v1/rtt?src=nobody&dst=192.0.2.1")).json();
      const [alone, after, refused] = text.trimEnd().split("\n");
      assertEquals(alone.split(" ").map(Number), [rtt.quantiles_ms["0.5"], rtt.p_failed]);
      assertEquals(after.split(" ").map(Number), [known.quantiles_ms["0.5"], 1]);
      assertEquals(refused, detail);
    }, { scale: 12 }),
});
