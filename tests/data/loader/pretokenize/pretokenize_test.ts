import fc from "fast-check";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { FormatError, UserError } from "../../../../lib/base/errors.ts";
import { DEFAULT_SAMPLING, numContextsOfRow, sampleContext } from "../../../../lib/data/tokens/contexts.ts";
import { prepareRow } from "../../../../lib/data/loader/prepared_row.ts";
import type { MeasurementBatch } from "../../../../lib/data/formats/batch.ts";
import {
  pretokenize,
  type V1Options,
  type V2Options,
} from "../../../../lib/data/loader/pretokenize/pretokenize.ts";
import { RandomStream } from "../../../../lib/base/random.ts";
import { formatAddress } from "../../../../lib/data/addresses/ip.ts";
import {
  blockOrder,
  clippedRtt,
  decodeWholeMeasurements,
  FIXED_RTT,
  FLOAT64_RTT,
  LOG_RTT,
  type RttEncoding,
} from "../../../../lib/data/tokens/vocab_v1.ts";
import { contextForm } from "../../../../lib/data/tokens/context_form.ts";
import { TemporaryFolder } from "../../../io/files/temporary_folder.ts";
import { syntheticRows, writeProbeRows } from "../synthetic_rows.ts";
import { folderHashes } from "../../probe_rows/stage_fixtures.ts";
import { sampleBatch, writeParquet } from "../../probe_rows/sample_parquet.ts";
import { readSequences, readTokenFile } from "./token_files.ts";
import { TokenParquetWriter } from "../../../../lib/data/loader/pretokenize/token_shards.ts";

function v1(inputs: string[], output: string, change: Partial<V1Options> = {}): V1Options {
  return {
    vocabulary: "v1",
    inputs,
    output,
    sequencesPerFile: 700,
    overwrite: false,
    rttEncoding: "float64",
    rttClip: { quantile: 0.99 },
    maxRejectRatio: 0.05,
    ...change,
  };
}

function v2(inputs: string[], output: string, change: Partial<V2Options> = {}): V2Options {
  return {
    vocabulary: "v2",
    inputs,
    output,
    sequencesPerFile: 50,
    overwrite: false,
    seed: 3,
    epoch: 1,
    sequenceLength: 256,
    onCorrupt: "error",
    ...change,
  };
}

/** What the rows of a batch should decode to. */
function wanted(batch: MeasurementBatch) {
  return Array.from({ length: batch.numRows }, (_, row) => ({
    source: batch.srcAddr[row],
    destination: batch.dstAddr[row],
    isFailed: batch.rttMs[row] < 0,
    sizeBytes: batch.sizeBytes?.[row] ?? NaN,
    packetErrorCount: batch.packetErrorCount?.[row] ?? NaN,
    timeS: Math.floor(batch.eventTimeUs[row] / 1e6),
    msmId: batch.msmId?.[row] ?? NaN,
    order: blockOrder(batch.msmId?.[row] ?? 0, batch.eventTimeUs[row]),
  }));
}

function decoded(sequences: readonly Uint16Array[], encoding: RttEncoding) {
  return sequences.map((tokens) => {
    const [{ source, destination, rttMs, position, ...rest }, ...more] = decodeWholeMeasurements(
      tokens,
      encoding,
    );
    assertEquals([more, position], [[], 0]);
    return {
      source: formatAddress(source),
      destination: formatAddress(destination),
      isFailed: rttMs === null,
      ...rest,
    };
  });
}

Deno.test("pretokenize() writes each measurement as a sequence of vocabulary v1, in every RTT encoding", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 800 });
  writeParquet(folder.at("in.parquet"), batch);
  const encodings = [FLOAT64_RTT, FIXED_RTT, LOG_RTT, clippedRtt(50_000)];
  for (const encoding of encodings) {
    const output = folder.at(encoding.name);
    const summary = await pretokenize(
      v1([folder.at("in.parquet")], output, { rttEncoding: encoding.name, rttClip: { ms: 50 } }),
    );
    const names = ["tokens-00000.parquet", "tokens-00001.parquet"];
    assertEquals(summary.outputs, names);
    const sequences = await readSequences(names.map((name) => join(output, name)));
    assertEquals(decoded(sequences, encoding), wanted(batch));
    const tokens = sequences.reduce((sum, { length }) => sum + length, 0);
    assertEquals([summary.sequences, summary.tokens, summary.inputRows], [800, tokens, 800]);
    const { metadata, lengths } = await readTokenFile(join(output, names[0]));
    assertEquals(new Set(lengths), new Set([45, 69]));
    assertEquals(metadata, {
      "ping_llm.vocabulary": "v1",
      "ping_llm.vocab_size": "266",
      "ping_llm.rtt_encoding": encoding.name,
      ...(encoding.clipUs ? { "ping_llm.rtt_clip_us": "50000" } : {}),
    });
  }
});

Deno.test("pretokenize() clips at a quantile of the input's RTTs", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 3000 });
  writeParquet(folder.at("in.parquet"), batch);
  const replies = batch.rttMs.filter((rtt) => rtt >= 0).sort();
  for (const quantile of [0, 0.5, 1]) {
    const options = v1([folder.at("in.parquet")], folder.at(`q${quantile}`), {
      rttEncoding: "clipped",
      rttClip: { quantile },
    });
    const { rttClipUs } = (await pretokenize(options)).further;
    const exactUs = 1000 * replies[Math.min(replies.length - 1, Math.floor(quantile * replies.length))];
    assert(Math.abs(rttClipUs / exactUs - 1) < 5e-4, `${rttClipUs} is not ${exactUs}`);
  }
});

Deno.test("pretokenize() rejects values without tokens of vocabulary v1, and never wraps", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 400, numBad: 1 });
  const { sizeBytes, packetErrorCount, msmId } = batch;
  assert(sizeBytes && packetErrorCount && msmId);
  sizeBytes[10] = 65_535;
  sizeBytes[11] = 65_536;
  packetErrorCount[12] = 255;
  packetErrorCount[13] = 256;
  sizeBytes[14] = -1;
  msmId[15] = NaN;
  batch.rttMs[16] = 1e300;
  writeParquet(folder.at("in.parquet"), batch);
  const summary = await pretokenize(
    v1([folder.at("in.parquet")], folder.at("out"), { rttEncoding: "fixed" }),
  );
  assertEquals(summary.rejected, {
    errorCountTooLarge: 1,
    invalidInteger: 1,
    invalidRtt: 1,
    nullValue: 1,
    sizeTooLarge: 1,
    unparseableAddress: 1,
  });
  assertEquals([summary.sequences, summary.inputRows], [394, 400]);
  const lines = Deno.readTextFileSync(folder.at("out/rejects.jsonl")).trim().split("\n");
  const tooLarge = lines.map((line) => JSON.parse(line)).find(({ reason }) => reason === "sizeTooLarge");
  assertEquals(tooLarge.detail, "size 65536, in one of the 400 rows from 0 on");
  const measurements = decoded(await readSequences([folder.at("out/tokens-00000.parquet")]), FIXED_RTT);
  assertEquals(Math.max(...measurements.map((m) => m.sizeBytes)), 65_535);
  assertEquals(Math.max(...measurements.map((m) => m.packetErrorCount)), 255);

  const strict = v1([folder.at("in.parquet")], folder.at("strict"), { maxRejectRatio: 0.01 });
  await assertRejects(() => pretokenize(strict), UserError, "6 of 400 rows were rejected");
  // Such as 2^32 + 1, which would wrap to 1.
  const exact = sampleBatch({ numRows: 100 });
  (exact.sizeBytes ?? [])[42] = 2 ** 32 + 1;
  writeParquet(folder.at("exact.parquet"), exact);
  await pretokenize(v1([folder.at("exact.parquet")], folder.at("exact")));
  assertEquals(JSON.parse(Deno.readTextFileSync(folder.at("exact/rejects.jsonl"))), {
    reason: "sizeTooLarge",
    path: folder.at("exact.parquet"),
    row: 42,
    detail: "size 4294967297",
  });
});

Deno.test("pretokenize() rejects Parquet without a column of vocabulary v1, and names it", async () => {
  using folder = new TemporaryFolder();
  const { packetErrorCount: _, ...batch } = sampleBatch({ numRows: 10 });
  writeParquet(folder.at("in.parquet"), batch);
  const run = pretokenize(v1([folder.at("in.parquet")], folder.at("out")));
  await assertRejects(() => run, FormatError, "column packet_error_count is missing");
  assertEquals([...Deno.readDirSync(folder.at("out"))], []);
});

Deno.test("pretokenize() writes the contexts of vocabulary v2 that the loader draws, for each split", async () => {
  using folder = new TemporaryFolder();
  const rows = { train: syntheticRows(1, 30, 120), val: syntheticRows(2, 5, 50) };
  for (const [split, all] of Object.entries(rows)) {
    await writeProbeRows(folder.at(`rows/${split}/a.arrayrecord`), all.slice(0, 4));
    await writeProbeRows(folder.at(`rows/${split}/b.arrayrecord`), all.slice(4));
  }
  const summary = await pretokenize(v2([folder.at("rows")], folder.at("out")));
  for (const [split, all] of Object.entries(rows)) {
    const contexts = all.flatMap((row, index) => {
      const prepared = prepareRow(row, { path: "memory", index });
      const numContexts = numContextsOfRow(prepared.timeS.length, DEFAULT_SAMPLING);
      return Array.from({ length: numContexts }, (_, i) => {
        const random = new RandomStream(3, "loader/context", 1, index, i);
        const context = sampleContext(prepared, 257, random, DEFAULT_SAMPLING);
        const tokens = new Uint16Array(context.numTokens);
        contextForm(undefined).write(context, tokens, 0);
        return tokens;
      });
    });
    const files = summary.outputs.filter((path) => path.startsWith(`${split}/`));
    assertEquals(files.length, Math.ceil(contexts.length / 50));
    const sequences = await readSequences(files.map((path) => join(folder.at("out"), path)));
    assertEquals(sequences, contexts);
    assertEquals(summary.splits[split].sequences, contexts.length);
    assertEquals(summary.splits[split].tokens, sequences.reduce((sum, { length }) => sum + length, 0));
  }
  assertEquals(summary.inputRows, 35);
  const { metadata } = await readTokenFile(folder.at("out/val/tokens-00000.parquet"));
  assertEquals(metadata, {
    "ping_llm.vocabulary": "v2",
    "ping_llm.vocab_size": "267",
    "ping_llm.seed": "3",
    "ping_llm.epoch": "1",
    "ping_llm.sequence_length": "256",
  });
  const other = await pretokenize(v2([folder.at("rows")], folder.at("other"), { epoch: 2 }));
  assert(other.tokens !== summary.tokens, "another epoch has the same contexts");
});

Deno.test("pretokenize() fails at a damaged chunk of probe rows, or skips its rows", async () => {
  using folder = new TemporaryFolder();
  const rows = syntheticRows(1, 6, 40);
  const path = folder.at("rows/train/a.arrayrecord");
  await writeProbeRows(path, rows);
  const whole = await pretokenize(v2([folder.at("rows")], folder.at("whole")));
  const bytes = Deno.readFileSync(path);
  // The first data chunk begins after the signature's 64 bytes; byte 200 is in its data.
  bytes[200] ^= 1;
  Deno.writeFileSync(path, bytes);
  const run = (onCorrupt: "error" | "skip") =>
    pretokenize(v2([folder.at("rows")], folder.at(onCorrupt), { onCorrupt }));
  await assertRejects(() => run("error"), FormatError, "--on-corrupt skip");
  const { splits } = await run("skip");
  const lost = numContextsOfRow(rows[0].rttMs.length, DEFAULT_SAMPLING);
  assertEquals(splits.train.sequences, whole.splits.train.sequences - lost);
  // The other rows keep their contexts.
  const sequences = async (name: string) =>
    await readSequences(
      [...Deno.readDirSync(folder.at(name + "/train"))]
        .map((entry) => folder.at(name + "/train/" + entry.name)).sort(),
    );
  assertEquals(await sequences("skip"), (await sequences("whole")).slice(lost));
});

Deno.test("pretokenize() resumes where it was stopped, and ends with the same files", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 3000, numBad: 7 }));
  await writeProbeRows(folder.at("rows/train/a.arrayrecord"), syntheticRows(1, 60, 120));
  for (
    const make of [
      (output: string) => v1([folder.at("in.parquet")], output),
      (output: string) => v2([folder.at("rows")], output),
    ]
  ) {
    const { vocabulary } = make("");
    const [whole, output] = [folder.at(`whole-${vocabulary}`), folder.at(`output-${vocabulary}`)];
    const wantedSummary = await pretokenize(make(whole));
    const hashes = folderHashes(whole);
    const files = Object.keys(hashes).filter((name) => name.endsWith(".parquet"));
    assert(files.length >= 4);

    await pretokenize(make(output));
    const inode = (name: string) => Deno.statSync(join(output, name)).ino;
    const kept = files.filter((_, i) => i % 2 === 0);
    const inodes = kept.map(inode);
    for (const name of files) if (!kept.includes(name)) Deno.removeSync(join(output, name));
    const { seconds: _s, peakMemoryBytes: _p, ...again } = await pretokenize(make(output));
    const { seconds: _ws, peakMemoryBytes: _wp, ...first } = wantedSummary;
    assertEquals(again, first);
    assertEquals(folderHashes(output), hashes);
    assertEquals(kept.map(inode), inodes);
    assertEquals((await pretokenize(make(output))).wasComplete, true);
    await assertRejects(
      () => pretokenize({ ...make(output), sequencesPerFile: 10 }),
      UserError,
      "pretokenize with other inputs or options wrote to it",
    );
  }
});

const OPTIONS = { vocabSize: 267, metadata: { "ping_llm.vocabulary": "v2" } };

function write(path: string, sequences: readonly Uint16Array[]): { sequences: number; tokens: number } {
  using writer = new TokenParquetWriter(path, OPTIONS);
  for (const tokens of sequences) writer.append(tokens);
  return writer.close();
}

Deno.test("TokenParquetWriter writes lists of unsigned 16-bit integers and their lengths", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("new/tokens.parquet");
  const sequences = [Uint16Array.of(0, 266, 11), Uint16Array.of(5)];
  assertEquals(write(path, sequences), { sequences: 2, tokens: 4 });
  const read = await readTokenFile(path);
  assertEquals([read.sequences, read.lengths, read.metadata], [sequences, [3, 1], OPTIONS.metadata]);
  const [, list, repeated, element, length] = read.footer.schema;
  assertEquals([list.name, list.logical_type?.type, list.repetition_type], ["tokens", "LIST", "REQUIRED"]);
  assertEquals([repeated.name, repeated.repetition_type], ["list", "REPEATED"]);
  assertEquals([element.name, element.type, element.converted_type], ["element", "INT32", "UINT_16"]);
  // With a logical type, hyparquet-writer makes a footer that Arrow rejects.
  assertEquals(element.logical_type, undefined);
  assertEquals([length.name, length.type], ["length", "INT64"]);
  assertEquals([...Deno.readDirSync(folder.at("new"))].map(({ name }) => name), ["tokens.parquet"]);
});

Deno.test("TokenParquetWriter round-trips any sequences", async () => {
  using folder = new TemporaryFolder();
  const sequence = fc.array(fc.oneof(fc.nat(266), fc.constant(11)), { minLength: 1, maxLength: 70 });
  await fc.assert(
    fc.asyncProperty(fc.array(sequence.map((tokens) => Uint16Array.from(tokens))), async (sequences) => {
      const path = folder.at("any.parquet");
      write(path, sequences);
      assertEquals((await readTokenFile(path)).sequences, sequences);
    }),
    { numRuns: 50 },
  );
});

Deno.test("TokenParquetWriter starts a new row group when one is full", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("large.parquet");
  const sequences = Array.from(
    { length: 1100 },
    (_, i) => Uint16Array.from({ length: 1000 }, (_, j) => (i * 7 + j * j) % 267),
  );
  write(path, sequences);
  const { footer, sequences: read, lengths } = await readTokenFile(path);
  assertEquals(footer.row_groups.map(({ num_rows }) => Number(num_rows)), [1048, 52]);
  assertEquals(Number(footer.num_rows), 1100);
  assertEquals(read, sequences);
  assertEquals(new Set(lengths), new Set([1000]));
});
