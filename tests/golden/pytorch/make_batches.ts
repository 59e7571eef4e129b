/**
 * Writes the token batches that `make.py` and the parity test run on, as `batches.json`: sequences of both
 * vocabularies with several contexts each, from made-up measurements, and such whose tokens have address embeddings.
 * Run: `deno run -A make_batches.ts`.
 *
 * @module
 */
import { BatchLoader } from "../../../lib/data/loader/batches.ts";
import { type ModelBatch, rowsOfBatch } from "../../../lib/model/batch_rows.ts";
import { modelShapes } from "../../../lib/model/model_config.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { blockOrder, FLOAT64_RTT, WholeMeasurementWriter } from "../../../lib/data/tokens/vocab_v1.ts";
import { MemoryRowSource, syntheticRows } from "../../data/loader/synthetic_rows.ts";
import { batchOf, knownRows, tinyConfig } from "../../model/tiny_model.ts";

const NUM_BATCHES = 4;
const BATCH_SIZE = 2;
const SEQUENCE_LENGTH = 64;
/** Of batches whose tokens have rows of all kinds: of prefixes, pairs, recalls and estimates. */
const SEEDS_OF_ROWS = [2250, 7820, 15589, 2878];
/** The options of a model with address embeddings. */
const LEARNED_ROWS = {
  prefixVectors: { rows: 32, seed: 3, dropShare: 0 },
  pairVectors: { rows: 16, seed: 3, dropShare: 0, history: true },
  coordinates: { nodes: 16, rank: 2, folds: 4, dropShare: 0 },
};

/** Rows of few measurements, so that several contexts share a sequence. */
async function batchesOfV2(): Promise<ModelBatch[]> {
  const source = new MemoryRowSource(syntheticRows(1, 40, 1));
  const options = { seed: 1, sequenceLength: SEQUENCE_LENGTH, batchSize: BATCH_SIZE };
  using loader = BatchLoader.open(source, options);
  return await Array.fromAsync({ length: NUM_BATCHES }, () => loader.next());
}

/** One measurement a context; the last of a batch is cut at its end. */
function batchOfV1(random: RandomStream): ModelBatch {
  const length = BATCH_SIZE * SEQUENCE_LENGTH;
  const stream = new Uint16Array(length + SEQUENCE_LENGTH + 1);
  const starts = new Set<number>();
  const writer = new WholeMeasurementWriter(stream, FLOAT64_RTT);
  while (writer.at <= length) {
    starts.add(writer.at);
    const [timeS, msmId] = [1_750_000_000 + random.below(86400), 1000 + random.below(1000)];
    writer.write({
      source: Uint8Array.of(10, 0, 0, random.below(4)),
      destination: Uint8Array.of(192, 0, 2, random.below(4)),
      rttMs: 50 * Math.exp(random.normal()),
      sizeBytes: 64,
      packetErrorCount: random.below(2),
      timeS,
      msmId,
    }, blockOrder(msmId, timeS * 1e6));
  }
  const lossMask = new Uint8Array(length).fill(1);
  const segmentStart = new Uint16Array(length);
  for (let i = 0; i < length; i++) {
    const t = i % SEQUENCE_LENGTH;
    segmentStart[i] = t === 0 || starts.has(i) ? t : segmentStart[i - 1];
    if (starts.has(i + 1)) lossMask[i] = 0;
  }
  return { tokens: stream.slice(0, length), targets: stream.slice(1, length + 1), lossMask, segmentStart };
}

function batchesOfV1(): ModelBatch[] {
  const random = new RandomStream(1, "golden/v1");
  return Array.from({ length: NUM_BATCHES }, () => batchOfV1(random));
}

/** Tensors of known addresses besides parameters, and batches with the rows that inference has of them. */
function withLearnedRows() {
  const config = tinyConfig(LEARNED_ROWS);
  const known = knownRows(config);
  const weights = new Map<string, Float32Array>();
  known.save(weights);
  const rows = SEEDS_OF_ROWS.map((seed) => {
    const { histories: _histories, ...batch } = batchOf(seed, BATCH_SIZE, SEQUENCE_LENGTH);
    const ofTokens = rowsOfBatch(batch, known, { sequenceLength: SEQUENCE_LENGTH, isTraining: false });
    // As signed numbers, of which NO_ROW is -1.
    return { ...asLists(batch), addressRows: [...new Int32Array(ofTokens.buffer)] };
  });
  const lists = Object.fromEntries([...weights].map(([name, values]) => [name, [...values]]));
  return { rows, learnedRows: { model: LEARNED_ROWS, numRows: modelShapes(config).numAddressEmbeddings, weights: lists } };
}

const asLists = ({ tokens, targets, lossMask, segmentStart }: ModelBatch) => ({
  tokens: [...tokens],
  targets: [...targets],
  lossMask: [...lossMask],
  segmentStart: [...segmentStart],
});

if (import.meta.main) {
  const content = {
    batchSize: BATCH_SIZE,
    sequenceLength: SEQUENCE_LENGTH,
    v1: batchesOfV1().map(asLists),
    v2: (await batchesOfV2()).map(asLists),
    ...withLearnedRows(),
  };
  Deno.writeTextFileSync(new URL("batches.json", import.meta.url), JSON.stringify(content) + "\n");
}
