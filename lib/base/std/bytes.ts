// The functions of @std/bytes; see assert.ts for why they are taken from npm's `deno-std`.
// @ts-types="./bytes.d.ts"
export * from "npm:deno-std@1.4.0/bytes/mod.js";
