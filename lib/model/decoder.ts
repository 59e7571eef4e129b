/**
 * Decoding with a cache of keys and values: prompts are read once, then many rows continue them token by
 * token.
 *
 * A prefill packs prompts of any lengths one after the other. A fork gives each prompt any number of rows,
 * which share its keys. A step appends one token to every row, or to several rows that branch off it.
 *
 * @module
 */
import { ensure, UserError } from "../base/errors.ts";
import type { Tensors } from "../base/safetensors_header.ts";
import { type DecodeTile, decodeTileRows, decodeTiles } from "../tensor/ops/attention.ts";
import type { Gpu } from "../tensor/device.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { AddressEmbeddings, EmbeddingCursor, type RowUse } from "./address_embeddings.ts";
import type { TimedRtt } from "./pair_history.ts";
import { NO_ROW } from "./embedding_table.ts";
import { previousRows } from "../tensor/ops/qk_norm_rope.ts";
import { Program } from "../tensor/program.ts";
import type { KernelRegistry } from "../tensor/registry.ts";
import { allocateTensors, mib } from "./allocation.ts";
import { type ModelConfig, type ModelShapes, modelShapes } from "./model_config.ts";
import { requireNoOverflow } from "./finite.ts";
import {
  addPrefill,
  addStep,
  buildDecoder,
  type DecoderExtent,
  decoderSizeBytes,
  type DecoderTensors,
  programRows,
} from "./decoder_buffers.ts";
import { addChosenLogProbabilities } from "./forward.ts";
import { writeParameters } from "./parameters.ts";

/**
 * Maximum number of programs in a decoder; the least recently used is dropped first. Their sizes depend on
 * the questions, and each takes about 0.2 MB.
 */
const MAX_PROGRAMS = 128;
const REMEDY = "lower the decoder's maxPromptTokens, maxRows or maxSteps";

export class Decoder {
  readonly #tensors: DecoderTensors;
  readonly #programs = new Map<string, Program>();
  readonly #rows = new DecodedRows();
  #numTiles = 0;
  readonly #tokenRows: DecoderTokenRows | undefined;

  private constructor(
    readonly registry: KernelRegistry,
    readonly shapes: ModelShapes,
    readonly extent: DecoderExtent,
    tensors: DecoderTensors,
  ) {
    this.#tensors = tensors;
    const { embeddingRows } = tensors.inputs;
    this.#tokenRows = embeddingRows &&
      new DecoderTokenRows(registry.gpu, new AddressEmbeddings(shapes.config), embeddingRows);
    const { rowIndex } = tensors.chosen;
    registry.gpu.write(rowIndex, Uint32Array.from({ length: rowIndex.shape[0] }, (_, i) => i));
  }

  get config(): ModelConfig {
    return this.shapes.config;
  }

  /**
   * Allocates a decoder.
   *
   * @param weights name -> values with the shapes of `ModelShapes.parameters`.
   * @param options The extent, and `memoryLimitBytes`: the limit of memory in addition to the weights.
   * @throws {UserError} If the weights belong to another model, or memory or its limit does not suffice.
   */
  static async create(
    registry: KernelRegistry,
    { config, weights }: { config: ModelConfig; weights: Tensors },
    options: DecoderExtent & { memoryLimitBytes: number },
  ): Promise<Decoder> {
    const { memoryLimitBytes, ...extent } = options;
    const sizeBytes = decoderSizeBytes(config, extent);
    if (sizeBytes > memoryLimitBytes) {
      throw new UserError(
        `Cannot allocate the decoder: it takes ${
          mib(sizeBytes)
        } in addition to the weights, expected at most ${
          mib(memoryLimitBytes)
        }; ${REMEDY}, or raise its memory limit`,
      );
    }
    const { gpu } = registry;
    const shapes = modelShapes(config);
    const tensors = await allocateTensors(gpu, (make) => buildDecoder(shapes, extent, make), {
      what: "the decoder",
      remedy: REMEDY,
    });
    const decoder = new Decoder(registry, shapes, extent, tensors);
    decoder.load(weights);
    return decoder;
  }

  /**
   * Sets all weights. Prompts read before must be read again.
   *
   * @param weights name -> values with the shapes of `ModelShapes.entries`.
   * @throws {UserError} If the weights belong to another model.
   */
  load(weights: Tensors): void {
    const { parameters } = this.#tensors;
    writeParameters(this.registry.gpu, this.shapes, { parameters, weights });
    this.#tokenRows?.load(weights);
  }

  /**
   * Reads prompts, which replace the earlier ones; they have no rows until {@link fork}.
   *
   * The work is submitted before the call returns, so that a step may be requested before the promise is
   * awaited.
   *
   * @param prompts Token sequences of at least one token, at most `maxPromptTokens` in total.
   * @param options `numLast`: the number of each prompt's last positions in the result (default: 1; Infinity:
   *   all). `recents`: for each prompt that ends where an RTT comes next, the newest RTTs of the pair, in
   *   place of those in the prompt. `ends`: a prompt may represent several prompts that are prefixes of it:
   *   their numbers of tokens, ascending, the last one being the whole prompt. Each has `numLast` positions
   *   in the result and its own rows (default: only the whole prompt).
   * @returns log P(next token), nats, (positions, V): a prompt's rows in order of position.
   * @throws {UserError} If a prompt has more tokens than the model's sequence, or the result is not finite.
   */
  async prefill(
    prompts: readonly Uint16Array[],
    options: {
      numLast?: number;
      recents?: readonly (readonly TimedRtt[] | undefined)[];
      ends?: readonly (readonly number[])[];
    } = {},
  ): Promise<Float32Array> {
    const { numLast = 1, recents, ends = prompts.map(({ length }) => [length]) } = options;
    const { gpu } = this.registry;
    const tensors = this.#tensors;
    const numTokens = prompts.reduce((sum, { length }) => sum + length, 0);
    this.#requireRoom("prompt tokens", numTokens, this.extent.maxPromptTokens);
    const rows = programRows(numTokens);
    const tokens = new Uint32Array(rows);
    const positions = new Uint32Array(rows);
    const starts = new Uint32Array(rows);
    const chosen: number[] = [];
    const keys: PromptKeys[] = [];
    let firstKey = 0;
    for (const [i, prompt] of prompts.entries()) {
      const numChosen = numLast === Infinity ? prompt.length : numLast;
      ensure(prompt.length >= numChosen, `a prompt of ${prompt.length} tokens has fewer than ${numLast}`);
      this.#requirePosition(prompt.length - 1);
      const endKey = firstKey + prompt.length;
      tokens.set(prompt, firstKey);
      for (let row = firstKey; row < endKey; row++) positions[row] = row - firstKey;
      starts.fill(firstKey, firstKey, endKey);
      let unread = firstKey;
      for (const end of ends[i]) {
        const from = firstKey + end - (numLast === Infinity ? end : numLast);
        ensure(from >= unread, `ends ${ends[i]} of a prompt are less than ${numLast} tokens apart`);
        unread = firstKey + end;
        for (let row = from; row < unread; row++) chosen.push(row);
        keys.push({ firstKey, endKey: unread });
      }
      ensure(unread <= endKey, `ends ${ends[i]} of a prompt of ${prompt.length} tokens`);
      firstKey = endKey;
    }
    this.#rows.begin(keys);
    this.#tokenRows?.writePrompts(prompts, rows, { recents, ends });
    // The rows after the last prompt are a separate segment, whose results nothing reads.
    starts.fill(firstKey, firstKey);
    this.#writeTokens(tokens, positions);
    gpu.write(tensors.inputs.segmentStart, starts);
    this.#writePrevious(() => previousRows(starts, rows));
    gpu.write(tensors.chosen.positions, Uint32Array.from(chosen));
    const numWanted = programRows(chosen.length);
    // This does not depend on which prompts are read together, because the two ways round differently.
    const areTiled = numWanted <= tensors.tiles.shape[0];
    if (areTiled) {
      this.#writeTiles(rowsOfPositions(keys, chosen), numWanted);
      gpu.write(tensors.rowKeys, Uint32Array.from(chosen, (position) => position + 1));
    }
    const program = this.#program(
      areTiled ? `prefill ${rows} for ${numWanted}` : `prefill ${rows}`,
      (program) =>
        addPrefill(program, {
          shapes: this.shapes,
          tensors,
          rows,
          numWanted: areTiled ? numWanted : undefined,
        }),
    );
    return await this.#logProbabilities(program, chosen.length, areTiled ? undefined : chosen);
  }

  /**
   * Gives every prompt new rows, with nothing appended yet.
   *
   * @param numChildren The number of rows of each prompt, 0 or more; at most `maxRows` in total.
   * @param options `numDropped`: the number of each prompt's last tokens that the rows replace (default: 0).
   */
  fork(numChildren: readonly number[], options: { numDropped?: number } = {}): void {
    const numRows = numChildren.reduce((sum, count) => sum + count, 0);
    this.#requireRoom("rows", numRows, this.extent.maxRows);
    const { numDropped = 0 } = options;
    this.#rows.fork(numChildren, numDropped);
    this.#tokenRows?.fork(numChildren, numDropped);
    this.#writeTiles(this.#rows.children);
  }

  /**
   * Appends a token to every row. Submitted before the call returns, like {@link prefill}.
   *
   * @param tokens One per row, the first prompt's rows first.
   * @param parents For each token the row that it continues, ascending. A row may be continued several times
   *   or not at all (default: each once).
   * @returns log P(next token), nats, (rows, V).
   * @throws {UserError} If a row would be longer than the model's sequence, or the result is not finite.
   */
  async step(tokens: ArrayLike<number>, parents?: Uint32Array): Promise<Float32Array> {
    return await this.#logProbabilities(this.#append(tokens, parents), tokens.length);
  }

  /** Like {@link step}, without the log-probabilities. */
  append(tokens: ArrayLike<number>, parents?: Uint32Array): void {
    this.#append(tokens, parents).run();
  }

  /** @returns The program of the step, which must be submitted before anything else is uploaded. */
  #append(tokens: ArrayLike<number>, parents: Uint32Array | undefined): Program {
    ensure(this.#rows.numRows > 0, "a step needs rows: call fork() first");
    const numRows = parents?.length ?? this.#rows.numRows;
    ensure(tokens.length === numRows, `${tokens.length} tokens for ${numRows} rows`);
    const step = this.#rows.numSteps;
    this.#requireRoom("steps", step + 1, this.extent.maxSteps);
    this.#requireRoom("rows", numRows, this.extent.maxRows);
    if (parents) {
      this.#rows.branch(parents);
      this.#tokenRows?.branch(parents);
      this.#writeTiles(this.#rows.children);
    }
    const rows = programRows(numRows);
    const upload = new Uint32Array(rows);
    upload.set(tokens);
    const positions = this.#rows.nextPositions(rows);
    for (const position of positions) this.#requirePosition(position);
    this.#writeTokens(upload, positions);
    this.#tokenRows?.writeStep(tokens, rows);
    this.#writePrevious(() => this.#rows.previousKeys(rows));
    const { shapes } = this;
    const tensors = this.#tensors;
    const { rowKeys } = tensors;
    this.#rows.append(step * rowKeys.shape[1]);
    this.registry.gpu.write(rowKeys, this.#rows.rowKeys(rows));
    const numTiles = this.#numTiles;
    const name = `step ${step} of ${rows} rows in ${numTiles} tiles`;
    const add = (program: Program) => addStep(program, { shapes, tensors, rows, step, numTiles });
    return this.#program(name, add);
  }

  /** Writes the prompt of each row, in tiles of as many rows as a workgroup processes. */
  #writeTiles(prompts: readonly DecodeTile[], numTiles?: number): void {
    const { gpu } = this.registry;
    const tiles = decodeTiles(prompts, decodeTileRows(gpu.info, this.config.headDim));
    this.#numTiles = numTiles ?? Math.min(programRows(tiles.length), this.#tensors.tiles.shape[0]);
    const words = new Uint32Array(this.#numTiles * 4);
    tiles.forEach((tile, i) => words.set([tile.firstKey, tile.endKey, tile.firstRow, tile.endRow], i * 4));
    gpu.write(this.#tensors.tiles, words);
  }

  /** Writes the sources of shifted keys, if the model has any. */
  #writePrevious(previous: () => Uint32Array): void {
    const tensor = this.#tensors.inputs.previous;
    if (tensor) this.registry.gpu.write(tensor, previous());
  }

  #writeTokens(tokens: Uint32Array, positions: Uint32Array): void {
    const { gpu } = this.registry;
    const limit = this.shapes.vocabSize;
    ensure(tokens.every((token) => token < limit), `a token is ${limit} or more`);
    gpu.write(this.#tensors.inputs.tokens, tokens);
    gpu.write(this.#tensors.positions, positions);
  }

  /**
   * Runs a program and computes log-probabilities of its first `numRows` hidden states, or of chosen ones.
   */
  async #logProbabilities(
    body: Program,
    numRows: number,
    chosenRows?: readonly number[],
  ): Promise<Float32Array> {
    const { gpu } = this.registry;
    const { shapes } = this;
    const rows = programRows(numRows);
    const { chosen: tensors, head, parameters } = this.#tensors;
    const headProgram = this.#program(
      `head of ${rows}, ${chosenRows ? "chosen" : "all"}`,
      (program) =>
        addChosenLogProbabilities(program, {
          shapes,
          hiddenStates: head.xLastNorm,
          operands: parameters,
          tensors: chosenRows ? tensors : { ...tensors, positions: tensors.rowIndex },
          rows,
        }),
    );
    const written = { ...tensors.logProbabilities, shape: [numRows, shapes.vocabSize] };
    const numScales = chosenRows ? (chosenRows.at(-1) ?? -1) + 1 : numRows;
    // One submission, because each leaves device objects behind until garbage is collected.
    const encode = (encoder: GPUCommandEncoder) => {
      body.encode(encoder);
      headProgram.encode(encoder);
    };
    const read = [written, { ...head.xLastScale, shape: [numScales] }];
    const [values, scales] = await gpu.readAfter(encode, ...read);
    await this.registry.ready();
    requireNoOverflow(values, chosenRows ? chosenRows.map((row) => scales[row]) : [...scales]);
    return values;
  }

  #program(name: string, add: (program: Program) => void): Program {
    const found = this.#programs.get(name);
    const program = found ?? new Program(this.registry, name);
    if (!found) add(program);
    // A map keeps its entries in insertion order.
    this.#programs.delete(name);
    this.#programs.set(name, program);
    if (this.#programs.size > MAX_PROGRAMS) {
      const [[oldest, unused]] = this.#programs;
      this.#programs.delete(oldest);
      unused.destroy();
    }
    return program;
  }

  #requirePosition(position: number): void {
    const { sequenceLength } = this.config;
    if (position < sequenceLength) return;
    throw new UserError(
      `Cannot decode: position ${position} was requested, expected at most ${
        sequenceLength - 1
      }; shorten the prompt or use a model with longer sequences`,
    );
  }

  #requireRoom(what: string, found: number, limit: number): void {
    if (found <= limit) return;
    throw new RangeError(
      `Cannot decode: ${found} ${what} were requested, expected at most ${limit}; create a larger decoder`,
    );
  }
}

/** The keys of a prompt in the cache of all prompts, from `firstKey` to before `endKey`. */
interface PromptKeys {
  readonly firstKey: number;
  readonly endKey: number;
}

/**
 * Rows that continue prompts, in the order of the prompts, and which keys they see: those of their prompt,
 * and those appended since by the rows or by their ancestors. The keys themselves are on the GPU.
 */
class DecodedRows {
  #prompts: readonly PromptKeys[] = [];
  #numDropped = 0;
  #children: DecodeTile[] = [];
  #numRows = 0;
  /** For each step and row, the key that the row sees. */
  #suffixRows: Uint32Array[] = [];

  /** For each prompt the keys that its rows see and the rows themselves. */
  get children(): readonly DecodeTile[] {
    return this.#children;
  }

  get numRows(): number {
    return this.#numRows;
  }

  get numSteps(): number {
    return this.#suffixRows.length;
  }

  begin(prompts: readonly PromptKeys[]): void {
    this.#prompts = prompts;
    this.#children = [];
    this.#numRows = 0;
  }

  /**
   * @param numChildren The number of rows of each prompt.
   * @param numDropped The number of a prompt's last tokens that its rows do not see; fewer than any prompt
   *   has.
   */
  fork(numChildren: readonly number[], numDropped: number): void {
    ensure(numChildren.length === this.#prompts.length, `${numChildren.length} numbers of children`);
    this.#numDropped = numDropped;
    this.#suffixRows = [];
    this.#layOut(numChildren);
  }

  /** Replaces the rows. @param parents For each new row the row that it continues, ascending. */
  branch(parents: Uint32Array): void {
    const isAscending = parents.every((parent, i) => i === 0 || parents[i - 1] <= parent);
    ensure(isAscending && parents[parents.length - 1] < this.#numRows, `parents ${parents}`);
    const numChildren = this.#children.map(({ firstRow, endRow }) =>
      parents.reduce((count, parent) => parent >= firstRow && parent < endRow ? count + 1 : count, 0)
    );
    this.#layOut(numChildren);
    this.#suffixRows = this.#suffixRows.map((appended) => parents.map((parent) => appended[parent]));
  }

  /** The position of the next token of each row. @param length Length of the result, padded with 0. */
  nextPositions(length: number): Uint32Array {
    const positions = new Uint32Array(length);
    for (const { firstKey, endKey, firstRow, endRow } of this.#children) {
      positions.fill(endKey - firstKey + this.numSteps, firstRow, endRow);
    }
    return positions;
  }

  /**
   * The key before the next one of each row: the last key of its prompt or the last one it appended.
   *
   * @param length Length of the result, padded with 0.
   */
  previousKeys(length: number): Uint32Array {
    const previous = new Uint32Array(length);
    const appended = this.#suffixRows.at(-1);
    if (appended) {
      previous.set(appended);
    } else {
      for (const { endKey, firstRow, endRow } of this.#children) previous.fill(endKey - 1, firstRow, endRow);
    }
    return previous;
  }

  /** Records that every row appended a key. @param firstKey The first row's key; the others follow. */
  append(firstKey: number): void {
    this.#suffixRows.push(Uint32Array.from({ length: this.#numRows }, (_, row) => firstKey + row));
  }

  /** The keys of each row as `addAttentionDecode` takes them, (1 + steps, length), padded with 0. */
  rowKeys(length: number): Uint32Array {
    const keys = new Uint32Array((1 + this.numSteps) * length);
    for (const { endKey, firstRow, endRow } of this.#children) keys.fill(endKey, firstRow, endRow);
    this.#suffixRows.forEach((appended, step) => keys.set(appended, (1 + step) * length));
    return keys;
  }

  #layOut(numChildren: readonly number[]): void {
    const numDropped = this.#numDropped;
    let firstRow = 0;
    this.#children = this.#prompts.map(({ firstKey, endKey }, i) => {
      ensure(numDropped < endKey - firstKey, `a prompt has at most ${numDropped} tokens`);
      const endRow = firstRow + numChildren[i];
      const tile = { firstKey, endKey: endKey - numDropped, firstRow, endRow };
      firstRow = endRow;
      return tile;
    });
    this.#numRows = firstRow;
  }
}

/** Finds, for each of the ascending positions of a prefill, a row that sees its prompt up to there. */
function rowsOfPositions(prompts: readonly PromptKeys[], positions: readonly number[]): DecodeTile[] {
  let prompt = 0;
  return positions.map((position, row) => {
    while (position >= prompts[prompt].endKey) prompt++;
    return { firstKey: prompts[prompt].firstKey, endKey: position + 1, firstRow: row, endRow: row + 1 };
  });
}

/** For each prompt the newest RTTs of its pair, if given. */
type Recents = readonly (readonly TimedRtt[] | undefined)[];

/** Finds the address embeddings of prompt tokens and appended tokens, and uploads them. */
class DecoderTokenRows {
  readonly #gpu: Gpu;
  readonly #addressEmbeddings: AddressEmbeddings;
  readonly #tensor: Tensor;
  readonly #perToken: number;
  #prompts: readonly Uint16Array[] = [];
  #recents: Recents = [];
  #ends: readonly (readonly number[])[] = [];
  /** For each row the cursor after its last token. */
  #cursors: EmbeddingCursor[] = [];

  /** @param tensor The target of uploads, (rows, rowsPerToken) u32. */
  constructor(gpu: Gpu, addressEmbeddings: AddressEmbeddings, tensor: Tensor) {
    this.#perToken = addressEmbeddings.shapes.rowsPerToken;
    this.#gpu = gpu;
    this.#addressEmbeddings = addressEmbeddings;
    this.#tensor = tensor;
  }

  load(weights: Tensors): void {
    this.#addressEmbeddings.load(weights);
  }

  /** Uploads the rows of prompts, one after the other. @param numRows Tokens of the program, with padding. */
  writePrompts(
    prompts: readonly Uint16Array[],
    numRows: number,
    { recents = [], ends }: { recents?: Recents | undefined; ends: readonly (readonly number[])[] },
  ): void {
    this.#prompts = prompts;
    this.#ends = ends;
    this.#recents = recents;
    const rows = new Uint32Array(numRows * this.#perToken).fill(NO_ROW);
    let at = 0;
    prompts.forEach((prompt, index) => {
      const cursor = new EmbeddingCursor(this.#addressEmbeddings);
      for (let i = 0; i < prompt.length; i++, at += this.#perToken) {
        cursor.read(prompt[i], rows, at, this.#useAt(index, i));
      }
    });
    this.#gpu.write(this.#tensor, rows);
  }

  /** Gives every end of every prompt new rows, without its last `numDropped` tokens. */
  fork(numChildren: readonly number[], numDropped: number): void {
    const unread = new Uint32Array(this.#perToken);
    let child = 0;
    this.#cursors = this.#prompts.flatMap((prompt, index) => {
      const cursor = new EmbeddingCursor(this.#addressEmbeddings);
      let i = 0;
      return this.#ends[index].flatMap((end) => {
        for (; i < end - numDropped; i++) cursor.read(prompt[i], unread, 0, this.#useAt(index, i));
        return Array.from({ length: numChildren[child++] }, () => cursor.clone());
      });
    });
  }

  branch(parents: Uint32Array): void {
    this.#cursors = Array.from(parents, (parent) => this.#cursors[parent].clone());
  }

  /** Uploads the rows of one more token of each row. @param numRows Tokens of the program, with padding. */
  writeStep(tokens: ArrayLike<number>, numRows: number): void {
    const rows = new Uint32Array(numRows * this.#perToken).fill(NO_ROW);
    this.#cursors.forEach((cursor, i) => cursor.read(tokens[i], rows, i * this.#perToken));
    this.#gpu.write(this.#tensor, rows);
  }

  /** The options for reading a prompt's token: given RTTs apply to the last one only. */
  #useAt(index: number, at: number): RowUse | undefined {
    const recent = this.#recents[index];
    const isEnd = at === this.#prompts[index].length - 1;
    return recent && isEnd ? { isTraining: false, context: 0, recent } : undefined;
  }
}
