/** Which files of a folder are read. @module */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { basename, join } from "@std/path";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import {
  listMeasurementFiles,
  readFindings,
  readMembers,
} from "../../../lib/data/measurement_files/input_files.ts";
import { FormatError } from "../../../lib/base/errors.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { NoMeasurementsError, USUAL_READING } from "../../../lib/data/formats/format.ts";

const TABLE = "src,dst,time,rtt\n192.0.2.1,198.51.100.7,1767225600,5\n";

/** Writes files to a folder; returns the names of those that are read and the log lines about the others. */
function listed(folder: TemporaryFolder, files: Record<string, string | Uint8Array>) {
  for (const [name, content] of Object.entries(files)) {
    if (typeof content === "string") Deno.writeTextFileSync(folder.at(name), content);
    else Deno.writeFileSync(folder.at(name), content);
  }
  const lines: string[] = [];
  const paths = listMeasurementFiles([folder.path], { log: (line) => lines.push(line) });
  const strip = (line: string) => line.replaceAll(`${folder.path}/`, "");
  return { names: paths.map((path) => basename(path)).sort(), lines: lines.map(strip) };
}

Deno.test("measurements in a mixed folder are read, and other files are reported", () => {
  using folder = new TemporaryFolder();
  const { names, lines } = listed(folder, {
    "a.csv": TABLE,
    "b.txt": TABLE,
    "c.log.gz": gzipSync(TABLE),
    "d.json": "{}",
    "empty.log": "",
    "header.csv": "src,dst,time,rtt\n",
    "notes.txt": "hello, world\n",
    "page.csv.gz": gzipSync("<html>\n<p>a, b</p>\n"),
    "README.md": "# a, b\n",
    ".hidden.csv": "hello\n",
  });
  assertEquals(names, ["a.csv", "b.txt", "c.log.gz", "d.json", "empty.log"]);
  assertEquals(lines, [
    "leaving out README.md: the names are not those of measurement files",
    "leaving out header.csv: it has no rows below its header",
    "leaving out notes.txt: found the columns hello, world",
    "leaving out page.csv.gz: it looks like HTML (a login or error page?)",
  ]);
});

Deno.test("measurement files in a tar archive are read like those of a folder, and other members reported", async () => {
  using folder = new TemporaryFolder();
  const members: Record<string, string | Uint8Array> = {
    "./d/a.csv": TABLE,
    "d/b.jsonl.gz": gzipSync('{"src":"192.0.2.1","dst":"198.51.100.7","time":1767225601,"rtt":7}\n'),
    "d/._a.csv": "x",
    "d/manifest.json": "{}",
    "d/long.log": TABLE + "192.0.2.1,198.51.100.7,1767225602,9\n".repeat(5000),
    "d/c.parquet": "PAR1",
    "d/notes.txt": "hello, world\n",
    "d/README.md": "# a\n",
  };
  const encoder = new TextEncoder();
  const entries = Object.entries(members).map(([name, content]) => {
    const data = typeof content === "string" ? encoder.encode(content) : new Uint8Array(content);
    return { header: { name, size: data.length }, data };
  });
  const tar = await packTar([{ header: { name: "d/", size: 0, type: "directory" as const } }, ...entries]);
  const path = folder.at("results.tar.gz");
  const { names, lines } = listed(folder, { "results.tar.gz": gzipSync(tar), "e.csv": TABLE });
  assertEquals([names, lines], [["e.csv", "results.tar.gz"], []]);
  const rows = new Map<string | undefined, number>();
  for await (const { found, path: member } of readFindings(path, USUAL_READING)) {
    assert(found.every(({ finding }) => "rttsMs" in finding));
    rows.set(member, found.length + (rows.get(member) ?? 0));
  }
  assertEquals([...rows], [[`${path}:d/a.csv`, 1], [`${path}:d/b.jsonl.gz`, 1], [
    `${path}:d/long.log`,
    5001,
  ]]);
  const log: string[] = [];
  for await (
    const { chunks } of readMembers(path, {
      reading: USUAL_READING,
      log: (line) => log.push(line),
    })
  ) {
    for await (const _ of chunks);
  }
  assertEquals(log, [
    `leaving out ${path}:d/c.parquet: it is Parquet; extract the archive`,
    `leaving out ${path}:d/notes.txt: found the columns hello, world`,
    `leaving out ${path}:d/README.md: the name is not that of a measurement file`,
  ]);
  // Damaged, truncated, and not an archive.
  for (const [i, bytes] of [tar.with(700, 1), tar.subarray(0, 2000), encoder.encode(TABLE)].entries()) {
    const bad = folder.at(`bad${i}.tar`);
    Deno.writeFileSync(bad, bytes);
    await assertRejects(
      () => Array.fromAsync(readFindings(bad, USUAL_READING)),
      FormatError,
      "not a whole tar archive",
    );
  }
});

Deno.test("rotated logs are read", () => {
  using folder = new TemporaryFolder();
  const rotated = ["ping.log", "ping.log-20260101", "ping.log.1", "ping.log.2.gz"];
  const { names, lines } = listed(folder, {
    ...Object.fromEntries(rotated.map((name) => [name, name.endsWith("gz") ? gzipSync(TABLE) : TABLE])),
    "ping.log.old": TABLE,
  });
  assertEquals(names, rotated);
  assertEquals(lines, ["leaving out ping.log.old: the names are not those of measurement files"]);
});

Deno.test("a file that is named is read whatever it contains, and so is a folder of nothing else", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("notes.txt");
  Deno.writeTextFileSync(path, "hello, world\n");
  Deno.writeTextFileSync(folder.at("a.csv"), TABLE);
  assertEquals(listMeasurementFiles([path, folder.at("a.csv")]), [folder.at("a.csv"), path]);
  Deno.removeSync(folder.at("a.csv"));
  Deno.writeTextFileSync(folder.at("more.txt"), "and, more\n");
  const paths = listMeasurementFiles([join(folder.path, "*.txt")]);
  assertEquals(paths.length, 2);
  await assertRejects(
    () => Array.fromAsync(readFindings(paths[0], USUAL_READING)),
    NoMeasurementsError,
    "found the columns and, more",
  );
});
