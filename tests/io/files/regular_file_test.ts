import { assert, assertEquals, assertThrows } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { openRegularFile } from "../../../lib/io/files/byte_file.ts";
import { inFolder } from "./temporary_folder.ts";

Deno.test("openRegularFile() opens a file and refuses what is none, in one line and without waiting", () =>
  inFolder((folder) => {
    const path = `${folder}/f`;
    Deno.writeTextFileSync(path, "x");
    {
      using file = openRegularFile(path);
      assertEquals(file.statSync().size, 1);
    }
    const cases: [string, string][] = [
      [`${folder}/none`, "no such file or directory; check the path"],
      [folder, "it is a directory, expected a file; name a file"],
    ];
    if (Deno.build.os !== "windows") {
      const pipe = `${folder}/pipe`;
      assert(new Deno.Command("mkfifo", { args: [pipe] }).outputSync().success);
      cases.push([pipe, "it is a named pipe, expected a file; name a regular file"]);
      cases.push(["/dev/null", "it is a device, expected a file; name a regular file"]);
    }
    for (const [found, message] of cases) {
      const error = assertThrows(() => openRegularFile(found), UserError);
      assertEquals(error.message, `Cannot read ${found}: ${message}`);
    }
  }));
