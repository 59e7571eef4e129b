/** The address embeddings and coordinates of the golden file `tests/golden/pytorch/batches.json`. @module */
import type { TensorArray } from "../../lib/base/safetensors_header.ts";
import { entryType } from "../../lib/model/model_config.ts";

/** Reads tensors by name. @param lists Their numbers as in `learnedRows.weights`. */
export function tensorsOfLists(lists: Readonly<Record<string, number[]>>): Map<string, TensorArray> {
  return new Map(
    Object.entries(lists).map(([name, values]) => [
      name,
      entryType(name) === "U32" ? Uint32Array.from(values) : Float32Array.from(values),
    ]),
  );
}
