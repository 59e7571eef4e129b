/** Checkpoints of earlier and later format versions. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { inspectAdapted, inspectCheckpoint } from "../../lib/cli/inspect/checkpoint.ts";
import {
  readSafetensors,
  readSafetensorsHeader,
  type SafetensorsFile,
  writeSafetensors,
} from "../../lib/io/safetensors.ts";
import { checkFormatVersion, presentNames } from "../../lib/model/checkpoint_format.ts";
import { modelShapes } from "../../lib/model/model_config.ts";
import { embeddingUpdateOf } from "../../lib/model/embedding_update.ts";
import { parseSite } from "../../lib/serve/page/site_file.ts";
import { baseOf, UPDATE_FILE, writeUpdate } from "../../lib/train/adapted_checkpoint.ts";
import { loadCheckpoint, loadResumable } from "../../lib/train/checkpoint.ts";
import { readState, writeState } from "../../lib/train/checkpoint_files.ts";
import { withRowCheckpoint } from "../query/adapt/row_checkpoint.ts";
import { tinyLocatedModel } from "../query/adapt/tiny_rows.ts";
import { toAdaptedVersion1, toVersion1 } from "./version_1.ts";

const CHECKPOINT = "run/checkpoints/step-00000003";

/** Changes two rows and a node of the checkpoint, into the folder `adapted`. */
function adaptRows(at: (name: string) => string): void {
  const checkpoint = loadCheckpoint(at("run"));
  const { config: { model }, weights } = checkpoint;
  const update = embeddingUpdateOf(model, weights, Uint32Array.of(2, 127), Uint32Array.of(1));
  update.values.forEach((_, i) => update.values[i] = i / 7);
  update.history.forEach((_, i) => update.history[i] = i);
  Deno.mkdirSync(at("adapted"));
  writeUpdate(at(join("adapted", UPDATE_FILE)), update, { from: baseOf(checkpoint), config: model });
}

Deno.test("checkpoints of version 1 are read as those of version 2, to the last bit", () =>
  withRowCheckpoint((at) => {
    adaptRows(at);
    const wanted = loadResumable(at("run"));
    const adapted = loadCheckpoint(at("adapted"));
    const tensors = inspectCheckpoint({ path: "", files: [at(CHECKPOINT)] }).sections?.[0];
    const facts = inspectAdapted({ path: "", files: [at("adapted")] }).facts.slice(1);
    toVersion1(at(CHECKPOINT));
    const { shapes, metadata } = readSafetensorsHeader(at(join(CHECKPOINT, "model.safetensors")));
    assert(shapes.has("wpe.weight") && shapes.has("wpe.keys") && shapes.has("wpe.history"));
    assertEquals(metadata.format_version, undefined);
    const found = loadResumable(at("run"));
    assertEquals(found.config, wanted.config);
    assertEquals(sortedByName(found.weights), sortedByName(wanted.weights));
    assertEquals(sortedByName(found.optimizer), sortedByName(wanted.optimizer));
    assert(found.optimizer.has("address_embed.weight.exp_avg"));
    assertEquals(found.trainingData, wanted.trainingData);
    assertEquals(new Set(found.weights.keys()), new Set(modelShapes(found.config.model).entries.keys()));
    toAdaptedVersion1(at("adapted"), found.state.files.model.sha256);
    const again = loadCheckpoint(at("adapted"));
    assertEquals(sortedByName(again.weights), sortedByName(adapted.weights));
    assertEquals(again.adapted?.rows, new Set([2, 127]));
    assertEquals(
      sortedSection(inspectCheckpoint({ path: "", files: [at(CHECKPOINT)] }).sections?.[0]),
      sortedSection(tensors),
    );
    assertEquals(inspectAdapted({ path: "", files: [at("adapted")] }).facts.slice(1), facts);
  }, tinyLocatedModel()));

function sortedByName<T>(byName: ReadonlyMap<string, T>): Map<string, T> {
  return new Map([...byName].sort(([a], [b]) => a < b ? -1 : 1));
}

/** The lines of a section in the order of names, which in a file is that of the names of its version. */
function sortedSection(section: readonly unknown[] | undefined): unknown {
  assert(section && Array.isArray(section[1]));
  return [section[0], section[1].toSorted(), section[2]];
}

Deno.test("a later format version is refused in one line, wherever it is stated", () =>
  withRowCheckpoint((at) => {
    adaptRows(at);
    const refused = (read: () => unknown, path: string) => {
      const { message, exitCode } = assertThrows(read, UserError, "found format version 3, expected 1 to 2");
      assertEquals([message.split("\n").length, exitCode], [1, 1]);
      assertStringIncludes(message, path);
      assertStringIncludes(message, "use the version of the program that wrote it");
    };
    toVersion3(at(join("adapted", UPDATE_FILE)));
    refused(() => loadCheckpoint(at("adapted")), UPDATE_FILE);
    const state = readState(at(CHECKPOINT));
    const model = toVersion3(at(join(CHECKPOINT, "model.safetensors")));
    writeState(at(CHECKPOINT), { ...state, files: { ...state.files, model } });
    for (const read of [loadCheckpoint, loadResumable]) refused(() => read(at("run")), "model.safetensors");
    const path = at(join(CHECKPOINT, "state.json"));
    const json = JSON.parse(Deno.readTextFileSync(path));
    assertEquals(json.formatVersion, 2);
    Deno.writeTextFileSync(path, JSON.stringify({ ...json, formatVersion: 3 }));
    for (const read of [loadCheckpoint, loadResumable]) refused(() => read(at("run")), "state.json");
    refused(() => inspectCheckpoint({ path: "", files: [at(CHECKPOINT)] }), "state.json");
    refused(() => parseSite('{"formatVersion":3}', "site.json"), "site.json");
  }, tinyLocatedModel()));

function toVersion3(path: string): SafetensorsFile {
  const content = readSafetensors(path);
  assertEquals(content.metadata.format_version, "2");
  return writeSafetensors(path, { ...content, metadata: { ...content.metadata, format_version: "3" } });
}

Deno.test("presentNames() maps only names of the version that a file states", () => {
  const byName = new Map([["wpe.weight.exp_avg", 1], ["blocks.0.wpe.x", 2], ["address_embed.keys", 3]]);
  const present = [["address_embed.weight.exp_avg", 1], ["blocks.0.wpe.x", 2], ["address_embed.keys", 3]];
  assertEquals([...presentNames(byName, undefined, "f")], present);
  assertEquals([...presentNames(byName, "1", "f")], present);
  assertEquals([...presentNames(byName, "2", "f")], [...byName]);
  for (const version of [3, "3", "two", 1.5, 0, -1]) {
    assertThrows(() => checkFormatVersion(version, "f"), UserError, `found format version ${version}`);
  }
});
