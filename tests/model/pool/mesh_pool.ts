import type { TensorArray } from "../../../lib/base/safetensors_header.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { fitPool } from "../../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../../lib/model/pool/pool_tables.ts";

/** A pool of a mesh of six addresses, with a loss for each pair, and trees. */
export function poolOfMesh(): Map<string, TensorArray> {
  const tables = new PoolTables();
  const ends = Array.from({ length: 6 }, (_, i) => PoolTables.endOf(Uint8Array.of(192, 0, 2, i)));
  ends.forEach((a, i) =>
    ends.forEach((b, j) => {
      if (i === j) return;
      tables.add(a, b, encodeRttCode(10 + 5 * Math.abs(i - j)), 1_700_000_000 + i);
      tables.add(a, b, null, 1_700_000_600);
    })
  );
  return tables.save(fitPool([]));
}
