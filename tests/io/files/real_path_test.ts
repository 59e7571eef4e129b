import { assertThrows } from "@std/assert";
import { UsageError } from "../../../lib/base/errors.ts";
import { refuseOverlap } from "../../../lib/io/files/real_path.ts";
import { TemporaryFolder } from "./temporary_folder.ts";

Deno.test("refuseOverlap() rejects an output that is, contains or lies in an input, however it is spelled", () => {
  using folder = new TemporaryFolder();
  Deno.mkdirSync(folder.at("data/train"), { recursive: true });
  Deno.writeTextFileSync(folder.at("data/train/a.parquet"), "");
  Deno.symlinkSync(folder.at("data"), folder.at("link"));
  Deno.linkSync(folder.at("data/train/a.parquet"), folder.at("second-name.parquet"));
  const refused: [output: string, input: string, fault: string][] = [
    ["data/train/a.parquet", "data/train/a.parquet", "it is also an input"],
    ["data/../data/train/./a.parquet", "data/train/a.parquet", "it is also an input"],
    ["link/train/a.parquet", "data/train/a.parquet", "it is also an input"],
    ["second-name.parquet", "link/train/a.parquet", "it is also an input"],
    ["data/train", "data/train/a.parquet", "it contains the input"],
    ["link", "data/train", "it contains the input"],
    ["data/train/out.parquet", "data", "it is inside the input"],
    ["link/new/deep", "data", "it is inside the input"],
  ];
  for (const [output, input, fault] of refused) {
    assertThrows(() => refuseOverlap(folder.at(output), [folder.at(input)]), UsageError, fault);
  }
});

Deno.test("refuseOverlap() accepts outputs beside inputs, even if their names start with the same letters", () => {
  using folder = new TemporaryFolder();
  Deno.mkdirSync(folder.at("data"));
  Deno.writeTextFileSync(folder.at("data/a.parquet"), "");
  for (const output of ["data/b.parquet", "data/shards", "data2", "new/deep/out"]) {
    refuseOverlap(folder.at(output), [folder.at("data/a.parquet"), folder.at("absent"), "-"]);
  }
  refuseOverlap(folder.at("data-rows"), [folder.at("data")]);
});
