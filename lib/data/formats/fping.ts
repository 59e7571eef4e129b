import type { Format } from "./format.ts";

export const fping: Format = { name: "fping", title: "the output of fping" };
