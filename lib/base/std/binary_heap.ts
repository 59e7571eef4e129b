// The heap of @std/data-structures; see assert.ts for why it is taken from npm's `deno-std`.
// @ts-types="./binary_heap.d.ts"
export * from "npm:deno-std@1.4.0/data_structures/binary_heap.js";
