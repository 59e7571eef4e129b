// `parseArgs` of @std/cli; see assert.ts for why it is taken from npm's `deno-std`.
// @ts-types="./parse_args.d.ts"
export * from "npm:deno-std@1.4.0/cli/parse_args.js";
