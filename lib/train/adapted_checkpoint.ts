/**
 * Adapted checkpoints: `rows.safetensors` contains the address embeddings and coordinates that differ from a
 * base checkpoint, and the addresses and pairs that the adaptation measured. The base is not copied.
 * lib/train/CHECKPOINTS.md describes the format.
 *
 * @module
 */
import { join, resolve } from "@std/path";
import type { MeasuredData } from "../data/addresses/known_addresses.ts";
import { FormatError, UserError } from "../base/errors.ts";
import { type TensorArray, tensorOf, type Tensors } from "../base/safetensors_header.ts";
import { explainFileError, isMissing } from "../io/files/file_errors.ts";
import { hasState } from "../io/files/checkpoint_folder.ts";
import { exists, fingerprint } from "../io/files/inputs.ts";
import { isClosed } from "../io/files/checked_outputs.ts";
import { EMBEDDING_KEYS, type ModelConfig, modelShapes, PAIR_HISTORY } from "../model/model_config.ts";
import { checkFormatVersion, FORMAT_METADATA } from "../model/checkpoint_format.ts";
import { WEIGHT_LIMIT } from "../model/finite.ts";
import { faultAt } from "../model/finite.ts";
import { ADAPTED_COLUMNS } from "../model/pool/pool.ts";
import { faultOfNumbers } from "../model/tensor_bounds.ts";
import { COORDINATE_KEYS } from "../model/node_coordinates.ts";
import {
  EMBEDDING_VALUES,
  type EmbeddingUpdate,
  embeddingUpdateOf,
  historyShape,
  NO_NODES,
  numbersPerNode,
  withEmbeddingUpdate,
} from "../model/embedding_update.ts";
import type { AdaptedFrom, LoadedCheckpoint } from "./checkpoint_files.ts";
import { adaptationContent, decodeAdaptation } from "../model/training_tables.ts";
import {
  readSafetensors,
  type SafetensorsContent,
  sha256OfTensors,
  writeSafetensors,
} from "../io/safetensors.ts";

export const UPDATE_FILE = "rows.safetensors";
const ROW_NUMBERS = "address_embed.rows";
const NODE_NUMBERS = "coordinates.numbers";
const NODE_VALUES = "coordinates.values";

export function isAdapted(path: string): boolean {
  return exists(join(path, UPDATE_FILE));
}

/** The base of an adaptation: the checkpoint itself or, if it is adapted already, its base. */
export function baseOf({ adapted, directory, state }: LoadedCheckpoint): AdaptedFrom {
  if (adapted) return { base: adapted.base, baseSha256: adapted.baseSha256 };
  return { base: Deno.realPathSync(directory), baseSha256: state.files.model.sha256 };
}

/** A model that differs from its base in some address embeddings and coordinates only. */
interface AdaptedWeights {
  readonly config: ModelConfig;
  readonly weights: Tensors;
  /** Indexes of the embeddings and of the nodes that differ. */
  readonly rows: ReadonlySet<number>;
  readonly nodes: ReadonlySet<number>;
  /** The measurements of all adaptations; undefined if there are none. */
  readonly adaptation?: MeasuredData | undefined;
  /** Its pool, which may remember measurements of the adaptations. */
  readonly pool?: Tensors | undefined;
}

export function writeAdapted(folder: string, adapted: AdaptedWeights, from: AdaptedFrom): void {
  const { config, weights, adaptation, pool } = adapted;
  const [rows, nodes] = [adapted.rows, adapted.nodes].map((numbers) => Uint32Array.from(numbers).sort());
  const update = embeddingUpdateOf(config, weights, rows, nodes);
  writeUpdate(join(folder, UPDATE_FILE), update, { from, config, adaptation, pool });
}

/** Writes changed embeddings to the file `path`. */
export function writeUpdate(
  path: string,
  { rows, keys, values, history, coordinates: { nodes, ...ofNodes } }: EmbeddingUpdate,
  { from: { base, baseSha256 }, config, adaptation, pool }: {
    from: AdaptedFrom;
    config: ModelConfig;
    adaptation?: MeasuredData | undefined;
    pool?: Tensors | undefined;
  },
): void {
  const { tensors, shapes, metadata: measured } = adaptationContent(adaptation);
  const add = (widths: Widths, parts: readonly TensorArray[]) =>
    widths.forEach(([name, width], i) => {
      tensors.set(name, parts[i]);
      shapes.set(name, [parts[0].length, width]);
    });
  add(rowWidths(config), [rows, keys, values, history]);
  if (config.coordinates) add(nodeWidths(config), [nodes, ofNodes.keys, ofNodes.values]);
  for (const [name, { length: width }] of ADAPTED_COLUMNS) {
    const values = pool?.get(name);
    if (!values) continue;
    tensors.set(name, values);
    shapes.set(name, [values.length / width, width]);
  }
  const sha256 = sha256OfTensors(tensors);
  const metadata = { ...FORMAT_METADATA, base, base_sha256: baseSha256, sha256, ...measured };
  writeSafetensors(path, { shapes, tensors, metadata });
}

/**
 * @param load Reads the base.
 * @throws {UserError} If the base is missing, a link, not a checkpoint or changed, or a file has another
 *   format version.
 * @throws {FormatError} If the file is damaged.
 */
export function loadAdapted(folder: string, load: (path: string) => LoadedCheckpoint): LoadedCheckpoint {
  const { path, content, base, baseSha256, sha256, adaptation } = readUpdate(folder);
  const fault = faultOfBase(base);
  if (fault !== undefined) throw wrongBase(folder, { base, found: fault });
  const checkpoint = load(base);
  const { config: { model }, state } = checkpoint;
  const found = state.files.model.sha256;
  if (found !== baseSha256) {
    throw wrongBase(folder, { base, found: `its model has SHA-256 ${found.slice(0, 12)}…`, baseSha256 });
  }
  const update = updateOf(content, { path, config: model });
  const file = { sizeBytes: fingerprint(path).sizeBytes, sha256 };
  return {
    ...checkpoint,
    directory: folder,
    state: { ...state, files: { ...state.files, model: file } },
    weights: withEmbeddingUpdate(model, checkpoint.weights, update),
    trainingData: { ...checkpoint.trainingData, adaptation },
    pool: checkpoint.pool && new Map([...checkpoint.pool, ...memoryOf(content)]),
    adapted: { base, baseSha256, rows: new Set(update.rows), nodes: new Set(update.coordinates.nodes) },
  };
}

/** The tensors of the measurements that the pool remembers. */
function memoryOf({ tensors }: Pick<SafetensorsContent, "tensors">): [string, TensorArray][] {
  return ADAPTED_COLUMNS.flatMap(([name]) => {
    const values = tensors.get(name);
    return values ? [[name, values]] : [];
  });
}

interface UpdateFile extends AdaptedFrom {
  readonly path: string;
  readonly content: SafetensorsContent;
  /** SHA-256 of all tensors. */
  readonly sha256: string;
  /** Number of rows, and of nodes, that differ from the base. */
  readonly numRows: number;
  readonly numNodes: number;
  readonly adaptation: MeasuredData | undefined;
}

/**
 * Reads `rows.safetensors` without its base.
 *
 * @throws {UserError} If it has another format version.
 * @throws {FormatError} If it is damaged.
 */
export function readUpdate(folder: string): UpdateFile {
  const path = join(folder, UPDATE_FILE);
  const content = readSafetensors(path);
  const { base, base_sha256: baseSha256, sha256, format_version: version } = content.metadata;
  checkFormatVersion(version, path);
  if (base === undefined || baseSha256 === undefined || sha256 !== sha256OfTensors(content.tensors)) {
    throw new FormatError("it is not an adapted checkpoint or was damaged; run adapt again", { path });
  }
  const [numRows = 0, numNodes = 0] = [ROW_NUMBERS, NODE_NUMBERS].map((name) =>
    content.shapes.get(name)?.[0]
  );
  const fault = faultOfNumbers(content.tensors, { limit: WEIGHT_LIMIT });
  if (fault !== undefined) throw new FormatError(`${fault}; ${ADVICE}`, { path });
  return {
    path,
    content,
    base,
    baseSha256,
    sha256,
    numRows,
    numNodes,
    adaptation: decodeAdaptation(content, path),
  };
}

/** Describes what is wrong with the path of a base; undefined if a checkpoint is there. */
function faultOfBase(base: string): string | undefined {
  // `adapt` writes real paths, so any other path was forged.
  if (resolve("/", base) !== base || base.includes("\0")) {
    return "the path is not in the form that adapt writes";
  }
  try {
    if (Deno.lstatSync(base).isSymlink) return "it is a link";
    return hasState(base) ? undefined : "it contains no checkpoint";
  } catch (error) {
    // A stage may read the base that the manifest names, if it is a checkpoint.
    if (isMissing(error) || isClosed(error)) return "it does not exist or cannot be read";
    throw explainFileError(error, `read ${base}`);
  }
}

/** Tensors of rows or nodes with their widths. The first contains the indexes of the rows or nodes. */
type Widths = readonly (readonly [name: string, width: number])[];

function rowWidths(config: ModelConfig): Widths {
  const { length } = historyShape(config);
  return [[ROW_NUMBERS, 1], [EMBEDDING_KEYS, 1], [EMBEDDING_VALUES, config.width], [PAIR_HISTORY, length]];
}

function nodeWidths(config: ModelConfig): Widths {
  return [[NODE_NUMBERS, 1], [COORDINATE_KEYS, 1], [NODE_VALUES, numbersPerNode(config)]];
}

function updateOf(
  { tensors }: Pick<SafetensorsContent, "tensors">,
  { path, config }: { path: string; config: ModelConfig },
): EmbeddingUpdate {
  const fault = faultOfNumbers(tensors, { config, limit: WEIGHT_LIMIT });
  if (fault !== undefined) throw new FormatError(`${fault}; ${ADVICE}`, { path });
  const numbersOf = (widths: Widths, size: number): Uint32Array => {
    const [name] = widths[0];
    const numbers = tensors.has(name) ? tensorOf(tensors, name, "U32") : new Uint32Array();
    if (widths.some(([name, width]) => tensors.get(name)?.length !== width * numbers.length)) {
      throw damaged(path);
    }
    const other = numbers.findIndex((number, i) => number >= size || (i > 0 && number <= numbers[i - 1]));
    if (other < 0) return numbers;
    const wanted = `numbers below ${size} in ascending order`;
    throw new FormatError(`${faultAt(name, numbers, other, wanted)}; ${ADVICE}`, { path });
  };
  const words = (name: string) => tensorOf(tensors, name, "U32");
  const floats = (name: string) => tensorOf(tensors, name, "F32");
  const rows = numbersOf(rowWidths(config), modelShapes(config).numAddressEmbeddings);
  const update = {
    rows,
    keys: words(EMBEDDING_KEYS),
    values: floats(EMBEDDING_VALUES),
    history: words(PAIR_HISTORY),
    coordinates: NO_NODES,
  };
  if (!nodeWidths(config).some(([name]) => tensors.has(name))) return update;
  const nodes = numbersOf(nodeWidths(config), config.coordinates?.nodes ?? 0);
  return { ...update, coordinates: { nodes, keys: words(COORDINATE_KEYS), values: floats(NODE_VALUES) } };
}

const ADVICE = "run adapt again";

function damaged(path: string): FormatError {
  return new FormatError(`its embeddings do not fit the model of its base (the file is damaged); ${ADVICE}`, {
    path,
  });
}

function wrongBase(
  folder: string,
  { base, found, baseSha256 }: { base: string; found: string; baseSha256?: string },
): UserError {
  const wanted = baseSha256 === undefined ? "the checkpoint" : `${baseSha256.slice(0, 12)}…`;
  return new UserError(
    `Cannot read ${folder}: its base is ${base}, ${found}, expected ${wanted}; put it back, or run adapt again on ` +
      "another checkpoint",
  );
}
