import { assertEquals } from "@std/assert";
import { Counter, exposition, Histogram, Reading } from "../../lib/serve/metrics.ts";

Deno.test("exposition() writes counters, readings and cumulative histograms, and escapes labels", () => {
  const counter = new Counter("a_total", "Counts\nlines.");
  counter.add({ route: 'x"\\\n', status: 200 });
  counter.add({ route: 'x"\\\n', status: 200 });
  counter.add({ route: "y", status: 404 });
  const histogram = new Histogram("b_seconds", "Times.", [0.1, 1]);
  for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(value);
  const text = exposition([counter, histogram, new Reading("c", "Now.", "gauge", () => 2.5)]);
  assertEquals(
    text,
    [
      "# HELP a_total Counts\\nlines.",
      "# TYPE a_total counter",
      'a_total{route="x\\"\\\\\\n",status="200"} 2',
      'a_total{route="y",status="404"} 1',
      "# HELP b_seconds Times.",
      "# TYPE b_seconds histogram",
      'b_seconds_bucket{le="0.1"} 2',
      'b_seconds_bucket{le="1"} 3',
      'b_seconds_bucket{le="+Inf"} 4',
      "b_seconds_sum 7.65",
      "b_seconds_count 4",
      "# HELP c Now.",
      "# TYPE c gauge",
      "c 2.5",
      "",
    ].join("\n"),
  );
});
