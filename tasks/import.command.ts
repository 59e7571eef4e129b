import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { maxRejectRatio, memoryLimitGb, overwriteFile, readingOptions } from "./shared_options.ts";

export const importCommand = command({
  name: "import",
  summary: "convert measurements in any format to measurements Parquet",
  reads:
    "measurements in any supported format, also as .gz, .bz2, .zst, .tar.gz: files, folders, globs, `-` for standard input",
  writes: "measurements Parquet; names of addresses for `--names`",
  example: "--input results/ --output pings.parquet",
  main: ["input", "output", "explain", "columns", "src"],
  options: {
    input: option.paths(uses.inputs, "files, folders, globs, or - for standard input", { required: true }),
    output: option.path(
      uses.outputFile(".rejects.jsonl", ".names.csv"),
      "the Parquet file to write (required without --explain); an interrupted import starts over. Names of addresses, for --names of other stages, are " +
        "written beside it: F.names.csv",
      { value: "F.parquet" },
    ),
    explain: option.switch(
      "only show how the beginning of the first files is read: their first rows beside their lines; nothing is written",
    ),
    ...readingOptions,
    names: option.paths(
      uses.inputs,
      "addresses of hosts that inputs identify by name: CSV with an address and its name per line, or a hosts file",
    ),
    maxRejectRatio,
    overwrite: overwriteFile,
    memoryLimitGb,
  },
});
