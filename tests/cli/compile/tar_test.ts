import { assertEquals, assertThrows } from "@std/assert";
import { type TarEntry, tarHeader, tarOf } from "../../../lib/cli/compile/tar.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";

Deno.test("tarOf() writes what tar unpacks to the same files, with modes and long names", async () => {
  using folder = new TemporaryFolder();
  const long = `${"folder/".repeat(20)}${"name".repeat(20)}.js`;
  const sizes: [string, number][] = [["empty", 0], ["a/block", 512], ["a/more", 513], [long, 100_000]];
  const entries = sizes.map(([name, size], index): TarEntry => {
    const path = folder.at(String(index));
    Deno.writeFileSync(path, Uint8Array.from({ length: size }, (_, i) => i * 31 + index));
    return { name, path, isExecutable: index === 1 };
  });
  await Deno.writeFile(folder.at("archive"), ReadableStream.from(tarOf(entries)));
  Deno.mkdirSync(folder.at("unpacked"));
  const { code, stderr } = await new Deno.Command("tar", {
    args: ["-xf", folder.at("archive"), "-C", folder.at("unpacked")],
  }).output();
  assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
  for (const { name, path, isExecutable } of entries) {
    const unpacked = folder.at(`unpacked/${name}`);
    assertEquals(Deno.readFileSync(unpacked), Deno.readFileSync(path), name);
    assertEquals((Deno.statSync(unpacked).mode ?? 0) & 0o111, isExecutable ? 0o111 : 0, name);
  }
});

Deno.test("tarHeader() refuses a name that does not fit", () => {
  for (const name of ["n".repeat(101), `${"f".repeat(156)}/name`, `folder/${"n".repeat(101)}`]) {
    assertThrows(() => tarHeader(name, { sizeBytes: 0, mode: 0o644 }), RangeError, "too long");
  }
});
