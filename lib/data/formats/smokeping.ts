import type { Format } from "./format.ts";

export const smokeping: Format = { name: "smokeping", title: "SmokePing by rrdtool xport --json" };
