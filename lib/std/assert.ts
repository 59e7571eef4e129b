// The assertions of @std/assert. The JSR registry is not reachable from every build machine; npm's
// `deno-std` carries the same sources without types. Whoever has JSR points deno.json's import map at
// `jsr:@std/assert` and deletes this file and its .d.ts.
// @ts-types="./assert.d.ts"
export * from "npm:deno-std@1.4.0/assert/mod.js";
