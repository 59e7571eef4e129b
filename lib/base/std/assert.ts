// The assertions of @std/assert. The JSR registry is not reachable from every build machine; npm's
// `deno-std` carries the same sources without types. Where JSR can be reached, map it to `jsr:@std/assert` in
// deno.json and delete this file and its .d.ts.
// @ts-types="./assert.d.ts"
export * from "npm:deno-std@1.4.0/assert/mod.js";
