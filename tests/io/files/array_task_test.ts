import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { UsageError } from "../../../lib/base/errors.ts";
import { parseArrayTask, shareOf, taskSuffix } from "../../../lib/io/files/array_task.ts";

Deno.test("parseArrayTask() takes I/N with I from 1 to N and nothing else", () => {
  assertEquals(parseArrayTask("1/1"), { index: 1, count: 1 });
  assertEquals(parseArrayTask("17/99999"), { index: 17, count: 99_999 });
  for (
    const text of ["0/4", "5/4", "a/b", "", "2", "1/", "/4", "1/4/2", "-1/4", "1.5/4", "1/100000", " 1/4"]
  ) {
    assertThrows(() => parseArrayTask(text), UsageError, `Cannot use --task ${text}: expected I/N`);
  }
});

Deno.test("shareOf() gives every thing to one task, in order, and equally many to each", () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 50 }), fc.nat(3e9), (count, total) => {
    let next = 0;
    for (let index = 1; index <= count; index++) {
      const [first, end] = shareOf({ index, count }, total);
      assertEquals(first, next);
      assertEquals(Math.abs(end - first - total / count) < 1, true);
      next = end;
    }
    assertEquals(next, total);
  }));
});

Deno.test("taskSuffix() is empty for the only task and sorts as the tasks do", () => {
  assertEquals(taskSuffix({ index: 1, count: 1 }), "");
  const names = [1, 2, 10, 99].map((index) => taskSuffix({ index, count: 100 }));
  assertEquals(names, names.toSorted());
  assertEquals(names[2], "-00010-of-00100");
});
