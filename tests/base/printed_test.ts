/** Printed text never sends commands to the terminal and shows no key. @module */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { keepSecret, printable } from "../../lib/base/printed.ts";
import { refused, runStageProcess } from "../cli/process.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

Deno.test("printable() escapes control characters as JSON does, and hides keys, even shortened ones", () => {
  assertEquals(printable("a\tb\nc äöü €"), "a\tb\nc äöü €");
  assertEquals(
    printable("\x1b]0;x\x07 \r \x7f \x9b \u202e"),
    "\\u001b]0;x\\u0007 \\u000d \\u007f \\u009b \\u202e",
  );
  const value = { name: "a\x9b\x7f\u2066" };
  assertEquals(JSON.parse(printable(JSON.stringify(value))), value);
  assertEquals(keepSecret("s3cret-key"), "s3cret-key");
  assertEquals(printable("Key s3cret-key, s3cret-ke…, s3cr…, s3c…"), "Key [key], [key]…, [key]…, s3c…");
  const key = keepSecret('a/"<b>&ü-0123456789');
  const bytes = new TextEncoder().encode(key);
  const ofEach = (form: (code: string) => string) =>
    Array.from(key, (letter) => form(letter.charCodeAt(0).toString(16))).join("");
  const forms = [
    encodeURIComponent(key),
    JSON.stringify(key),
    bytes.toHex(),
    bytes.toHex().toUpperCase(),
    bytes.toHex().replace(/../g, "%$&"),
    bytes.toHex().toUpperCase().replace(/../g, "%$&"),
    ofEach((code) => `\\u${code.padStart(4, "0")}`),
    ofEach((code) => `\\u${code.padStart(4, "0").toUpperCase()}`),
    ofEach((code) => `&#x${code};`),
    ofEach((code) => `&#${parseInt(code, 16)};`),
    ...["", "u", "us:", "usr:"].map((user) => new TextEncoder().encode(`${user}${key}`).toBase64()),
    bytes.toBase64({ alphabet: "base64url" }),
  ];
  for (const form of forms) assertMatch(printable(`Basic ${form}`), /^Basic .{0,6}\[key\].{0,4}$/, form);
});

Deno.test("names with control characters are escaped in errors, lines and results", async () => {
  using folder = new TemporaryFolder();
  const name = folder.at("a\x1b]0;x\x07.txt");
  await refused(runStageProcess(["watch", "--input", name]), 1, "a\\u001b]0;x\\u0007.txt: no such file");
  await refused(runStageProcess(["\x1b[31m"]), 2, "\\u001b[31m");
  Deno.writeTextFileSync(name, '{"src":"10.0.0.1","dst":"192.0.2.1","time":1480000000,"rtt":1}\nnonsense\n');
  const { stderr } = await runStageProcess(["watch", "--input", name]);
  assertMatch(stderr, /a\\u001b\]0;x\\u0007\.txt/);
  const report = await runStageProcess(["inspect", name]);
  // deno-lint-ignore no-control-regex
  assert(!/[\x1b\x07]/.test(stderr + report.stdout + report.stderr), stderr);
});

Deno.test("no other code in lib/ and tasks/ prints to the user", () => {
  // A page has its own console, a package's text is an example, and these answer another program.
  const others = [
    /^lib\/serve\/page\//,
    /^lib\/serve\/site\/(?:npm_package|bundle)\.ts$/,
    /^lib\/serve\/mcp\.ts$/,
  ];
  // These print what printable() returns, or a fixed text.
  const passing = [
    "lib/base/printed.ts",
    "lib/cli/install.ts",
    "lib/cli/progress.ts",
    "lib/io/files/standard_output.ts",
  ];
  const found = ["lib", "tasks"].flatMap((root) => sourcesIn(root)).filter((path) =>
    /\bconsole\.\w+\(|Deno\.std(?:out|err)\.write|writeWhole\(Deno\.std/.test(Deno.readTextFileSync(path))
  );
  assertEquals(found.filter((path) => !others.some((each) => each.test(path))).sort(), passing);
});

function sourcesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return sourcesIn(path);
    return path.endsWith(".ts") ? [path] : [];
  });
}
