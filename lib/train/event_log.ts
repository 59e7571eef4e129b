/**
 * The TensorBoard event file of a run, with the scalars of `metrics.jsonl`.
 *
 * One file of one name for the whole run: a run that resumes from the checkpoint of step n cuts off what was
 * written after n, and a torn end. What is written again has the same lengths, so a TensorBoard that was reading
 * goes on at the right place.
 *
 * Messages: `tensorflow/core/util/event.proto` (Event), `tensorflow/core/framework/summary.proto` (Summary), in
 * TFRecord frames; https://github.com/tensorflow/tensorboard.
 *
 * @module
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { explainFileError } from "../files/file_errors.ts";
import { ByteFile } from "../files/byte_file.ts";
import type { MetricsRecord, ScalarLog } from "./metrics.ts";
import { decodeTfRecords, encodeTfRecord } from "../tensor_files/tfrecord.ts";

/** TensorBoard reads files with `tfevents` in their name; others put a time and a host behind it. */
export const EVENT_FILE = "events.out.tfevents.0.ping-llm";
/** The version that event.proto asks for in the first event. */
const FILE_VERSION = "brain.Event:2";

/** Field numbers of Event. */
const WALL_TIME = 1;
const STEP = 2;
const VERSION = 3;
const SUMMARY = 5;

/** An open event file. */
export class EventLog implements ScalarLog {
  readonly #file: ByteFile;
  readonly #nowS: () => number;

  private constructor(file: ByteFile, nowS: () => number) {
    this.#file = file;
    this.#nowS = nowS;
  }

  /**
   * Opens the file, making it and its folder if needed, and cuts it off after a step.
   *
   * @param path The file.
   * @param options `lastStep`: the step that the run resumes after; 0 starts the file anew. `nowS`: the clock,
   *   seconds since 1970.
   * @throws {UserError} If it cannot be written.
   */
  static open(path: string, options: { lastStep: number; nowS?: () => number }): EventLog {
    const { lastStep, nowS = () => Date.now() / 1000 } = options;
    const file = ByteFile.write(path, "append");
    const log = new EventLog(file, nowS);
    try {
      const keptBytes = lastStep === 0 ? 0 : endOfStep(Deno.readFileSync(path), lastStep);
      file.truncate(keptBytes);
      if (keptBytes === 0) file.write(encodeTfRecord(encodeVersion(nowS())));
    } catch (error) {
      log[Symbol.dispose]();
      throw explainFileError(error, `write ${path}`);
    }
    return log;
  }

  append(record: MetricsRecord): void {
    this.#file.write(encodeTfRecord(encodeScalars(record, this.#nowS())));
  }

  flush(): void {
    this.#file.flush();
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}

/** Where the last whole event of at most a step ends. */
function endOfStep(bytes: Uint8Array, lastStep: number): number {
  let end = 0;
  for (const { data, endBytes } of decodeTfRecords(bytes)) {
    if (stepOf(data) > lastStep) break;
    end = endBytes;
  }
  return end;
}

function stepOf(event: Uint8Array): number {
  const reader = new BinaryReader(event);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === STEP) return Number(reader.int64());
    reader.skip(wireType);
  }
  return 0;
}

function encodeVersion(timeS: number): Uint8Array {
  return new BinaryWriter()
    .tag(WALL_TIME, WireType.Bit64).double(timeS)
    .tag(VERSION, WireType.LengthDelimited).string(FILE_VERSION)
    .finish();
}

/** An event with a Summary.Value {tag = 1, simple_value = 2} per scalar. */
function encodeScalars({ step, ...scalars }: MetricsRecord, timeS: number): Uint8Array {
  const writer = new BinaryWriter()
    .tag(WALL_TIME, WireType.Bit64).double(timeS)
    .tag(STEP, WireType.Varint).int64(step)
    .tag(SUMMARY, WireType.LengthDelimited).fork();
  for (const [name, value] of Object.entries(scalars)) {
    writer.tag(1, WireType.LengthDelimited).fork()
      .tag(1, WireType.LengthDelimited).string(name)
      .tag(2, WireType.Bit32).float(value ?? NaN)
      .join();
  }
  return writer.join().finish();
}
