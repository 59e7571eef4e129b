// The functions of @std/path; see assert.ts for why it is taken from npm's `deno-std`.
// @ts-types="./path.d.ts"
export * from "npm:deno-std@1.4.0/path/mod.js";
