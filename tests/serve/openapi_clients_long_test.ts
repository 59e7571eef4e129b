import { assert, assertEquals } from "@std/assert";
import { openApiDocument } from "../../lib/serve/openapi.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

async function run(program: string, args: string[], cwd?: string) {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args,
    ...(cwd !== undefined && { cwd }),
    env: { NO_COLOR: "1" },
  }).output();
  return { code, text: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

Deno.test("openapi-typescript makes types of the description, which a client compiles with", async () => {
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("openapi.json"), JSON.stringify(openApiDocument()));
  Deno.writeTextFileSync(folder.at("deno.json"), "{}");
  const args = ["run", "-A", "--no-lock", "npm:openapi-typescript@7.13.0", "openapi.json", "-o", "api.ts"];
  const made = await run(Deno.execPath(), args, folder.path);
  assertEquals(made.code, 0, made.text);
  Deno.writeTextFileSync(
    folder.at("client.ts"),
    `import type { components, operations } from "./api.ts";
export const question: components["schemas"]["DestinationsQuestion"] = { src_addr: "192.0.2.1", rtt: [20, 25] };
export const query: operations["getRtt"]["parameters"]["query"] = { src_addr: "192.0.2.1", dst_addr: "::1" };
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

Deno.test(
  "openapi-python-client makes a client of all but JSON lines",
  { ignore: !hasPythonGenerator },
  async () => {
    using folder = new TemporaryFolder();
    Deno.writeTextFileSync(folder.at("openapi.json"), JSON.stringify(openApiDocument()));
    const args = ["generate", "--path", "openapi.json", "--meta", "none", "--output-path", "client"];
    const { code, text } = await run("python3", ["-m", "openapi_python_client", ...args], folder.path);
    assertEquals(code, 0, text);
    const modules = [...Deno.readDirSync(folder.at("client/api/default"))].map(({ name }) => name);
    for (
      const name of [
        "get_rtt",
        "post_rtt",
        "get_destinations",
        "post_destinations",
        "get_nearest",
        "post_nearest",
        "get_matrix",
        "post_matrix",
        "post_likelihood",
        "get_model",
      ]
    ) {
      assert(modules.includes(`${name}.py`), `${name} of ${modules}`);
    }
  },
);
