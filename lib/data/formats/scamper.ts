import type { Format } from "./format.ts";

export const scamper: Format = { name: "scamper", title: "pings of scamper (JSON of sc_warts2json)" };
