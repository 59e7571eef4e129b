import { assertEquals, assertMatch } from "@std/assert";
import { withWaitReports } from "../../../lib/train/mpi/communicator.ts";
import { SimulatedTime } from "../../simulated_time.ts";

Deno.test("a rank reports each minute that it waits for the others, until they come", async () => {
  using time = new SimulatedTime();
  const lines: string[] = [];
  const others = Promise.withResolvers<number>();
  const turn = withWaitReports(others.promise, (line) => lines.push(line));
  for (let minute = 0; minute < 2; minute++) {
    time.pass(59_000);
    assertEquals(lines.length, minute);
    time.pass(1000);
  }
  assertMatch(lines.join("\n"), /^waiting for the other ranks for 60 s;.*\nwaiting for .* for 120 s;.*$/);
  others.resolve(7);
  assertEquals(await turn, 7);
  time.pass(1e6);
  assertEquals(lines.length, 2);
});
