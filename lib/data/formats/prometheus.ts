import type { Format } from "./format.ts";

export const prometheus: Format = { name: "prometheus", title: "range queries of Prometheus (JSON)" };
