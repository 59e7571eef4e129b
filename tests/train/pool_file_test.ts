import { assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { FormatError } from "../../lib/base/errors.ts";
import { fitPool } from "../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../lib/model/pool/pool_tables.ts";
import { checkpointFiles, POOL_FILE, readPool, writePool } from "../../lib/train/checkpoint_files.ts";
import { loadCheckpoint, modelFilesOf } from "../../lib/train/checkpoint.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";

/** The pool of one measurement. */
function poolOfOne(): Map<string, Float32Array> {
  const tables = new PoolTables();
  const [a, b] = [1, 2].map((last) => PoolTables.endOf(Uint8Array.of(192, 0, 2, last)));
  tables.add(a, b, 12_000, 1_700_000_000);
  return tables.save(fitPool([]));
}

Deno.test("a checkpoint is read with its pool, which counts among its files; an older one has none", () =>
  withCheckpoint((_, run) => {
    const { directory, pool, state } = loadCheckpoint(run);
    assertEquals([pool, checkpointFiles(directory).length, modelFilesOf(run).length], [undefined, 3, 1]);
    writePool(directory, poolOfOne(), state.files.model.sha256);
    assertEquals(loadCheckpoint(run).pool, poolOfOne());
    assertEquals(checkpointFiles(directory).includes(join(directory, POOL_FILE)), true);
    assertEquals(modelFilesOf(run)[1], join(directory, POOL_FILE));
    return Promise.resolve();
  }));

Deno.test("a pool that is damaged or of another checkpoint is refused in one line that says what to do", () =>
  withCheckpoint((_, run) => {
    const { directory } = loadCheckpoint(run);
    writePool(directory, poolOfOne(), "0".repeat(64));
    const remedy = "delete it, the model answers without it";
    assertThrows(() => loadCheckpoint(directory), FormatError, `it is of another checkpoint; ${remedy}`);
    const path = join(directory, POOL_FILE);
    const bytes = Deno.readFileSync(path);
    bytes[bytes.length - 3] ^= 1;
    Deno.writeFileSync(path, bytes);
    assertThrows(() => readPool(directory, "0".repeat(64)), FormatError, `checksum does not match`);
    return Promise.resolve();
  }));
