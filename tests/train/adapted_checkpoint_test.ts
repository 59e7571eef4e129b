import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { AddressCounts } from "../../lib/data/addresses/known_addresses.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { locateAddresses } from "../../lib/query/adapt/free_rows.ts";
import { FormatError, UserError } from "../../lib/base/errors.ts";
import { AddressEmbeddings } from "../../lib/model/address_embeddings.ts";
import { EMBEDDING_KEYS } from "../../lib/model/model_config.ts";
import {
  EMBEDDING_VALUES,
  embeddingUpdateOf,
  withEmbeddingUpdate,
} from "../../lib/model/embedding_update.ts";
import { baseOf, UPDATE_FILE, writeUpdate } from "../../lib/train/adapted_checkpoint.ts";
import { readSafetensors, writeSafetensors } from "../../lib/io/safetensors.ts";
import { checkpointDirectory, loadCheckpoint, loadResumable } from "../../lib/train/checkpoint.ts";
import { withRowCheckpoint, writeRowCheckpoint } from "../query/adapt/row_checkpoint.ts";
import { estimateOf, KNOWN, measured, NEW_ADDRESS, tinyLocatedModel } from "../query/adapt/tiny_rows.ts";

/** Changes rows of the checkpoint in the folder `from` and writes the result to the folder `adapted`. */
function adaptRows(at: (name: string) => string, rows: number[], from = "run") {
  const checkpoint = loadCheckpoint(at(from));
  const { config: { model }, weights } = checkpoint;
  const update = embeddingUpdateOf(model, weights, Uint32Array.from(rows));
  update.keys.forEach((_, i) => update.keys[i] = 65_535 - i);
  update.values.forEach((_, i) => update.values[i] = i / 7);
  Deno.mkdirSync(at("adapted"), { recursive: true });
  writeUpdate(at(join("adapted", UPDATE_FILE)), update, { from: baseOf(checkpoint), config: model });
  return withEmbeddingUpdate(model, weights, update);
}

Deno.test("loadCheckpoint() applies changed embeddings to their base, bit for bit", () =>
  withRowCheckpoint((at) => {
    const wanted = adaptRows(at, [2, 64, 127]);
    const found = loadCheckpoint(at("adapted"));
    const base = loadCheckpoint(at("run"));
    assertEquals(found.weights, wanted);
    assertEquals([...found.adapted?.rows ?? []], [2, 64, 127]);
    for (const [name, values] of base.weights) {
      if (name !== EMBEDDING_KEYS && name !== EMBEDDING_VALUES) {
        assertEquals(found.weights.get(name), values, name);
      }
    }
    assertEquals(checkpointDirectory(at("adapted")), at("adapted"));
    assertEquals(found.state.step, base.state.step);
    assertEquals(found.state.files.model.sha256 === base.state.files.model.sha256, false);
    assertEquals(baseOf(found), baseOf(base), "what is adapted again has the same base");
    assertThrows(() => loadResumable(at("adapted")), UserError, "use --init-from");
    adaptRows(at, [], "run");
    assertEquals(loadCheckpoint(at("adapted")).weights, base.weights);
  }));

Deno.test("loadCheckpoint() applies changed coordinates to their base, bit for bit", () =>
  withRowCheckpoint(async (at) => {
    const base = loadCheckpoint(at("run"));
    const { config: { model }, weights } = base;
    const rows = new AddressEmbeddings(model);
    rows.load(weights);
    const measurements = [measured(NEW_ADDRESS, KNOWN[0], 25), measured(KNOWN[2], NEW_ADDRESS, 25)];
    const addresses = new Set([NEW_ADDRESS]);
    const nodes = await locateAddresses(rows, measurements, { addresses, adaptedNodes: new Set() });
    const wanted = new Map(weights);
    rows.save(wanted);
    Deno.mkdirSync(at("adapted"));
    const path = at(join("adapted", UPDATE_FILE));
    const update = embeddingUpdateOf(model, wanted, Uint32Array.of(5), nodes);
    writeUpdate(path, update, { from: baseOf(base), config: model });
    const found = loadCheckpoint(at("adapted"));
    assertEquals(found.weights, wanted);
    assertEquals([...found.adapted?.nodes ?? []], [...nodes]);
    const pair = [NEW_ADDRESS, KNOWN[3]] as const;
    assertEquals(estimateOf({ config: model, weights: found.weights }, pair)?.isOfBoth, true);
    assertEquals(estimateOf({ config: model, weights: base.weights }, pair)?.isOfBoth, false);
  }, tinyLocatedModel()));

Deno.test("loadCheckpoint() reads the measurements of an adaptation", () =>
  withRowCheckpoint((at) => {
    adaptRows(at, [5]);
    const checkpoint = loadCheckpoint(at("run"));
    assertEquals(loadCheckpoint(at("adapted")).trainingData.adaptation, undefined);
    const counts = new AddressCounts();
    counts.add(counts.id(addressBytes(NEW_ADDRESS)), counts.id(addressBytes(KNOWN[0])), 1.7e9);
    const summary = counts.summary({ origin: "", isSynthetic: null });
    const adaptation = { known: counts.table(), summary };
    const { config: { model }, weights } = checkpoint;
    const path = at(join("adapted", UPDATE_FILE));
    const update = embeddingUpdateOf(model, weights, Uint32Array.of(5));
    writeUpdate(path, update, { from: baseOf(checkpoint), config: model, adaptation });
    const { trainingData } = loadCheckpoint(at("adapted"));
    assertEquals(trainingData.summary, checkpoint.trainingData.summary);
    assertEquals(trainingData.adaptation?.summary, summary);
    assertEquals(trainingData.adaptation?.known.columns, adaptation.known.columns);
  }));

Deno.test("loadCheckpoint() rejects changed embeddings whose base is missing or different", () =>
  withRowCheckpoint((at) => {
    adaptRows(at, [5]);
    const [checkpoint, away] = [at("run/checkpoints/step-00000003"), at("away")];
    Deno.renameSync(checkpoint, away);
    const gone = assertThrows(() => loadCheckpoint(at("adapted")), UserError);
    assertStringIncludes(gone.message, `its base is ${Deno.realPathSync(at("run"))}`);
    assertStringIncludes(gone.message, "it does not exist");
    writeRowCheckpoint(at("other"), 4);
    Deno.renameSync(at("other/checkpoints/step-00000004"), checkpoint);
    const other = assertThrows(() => loadCheckpoint(at("adapted")), UserError);
    assertStringIncludes(other.message, "its model has SHA-256");
    for (const { message } of [gone, other]) assertEquals(message.split("\n").length, 1);
  }));

Deno.test("loadCheckpoint() rejects a forged base: a path or link that adapt does not write, or no checkpoint", () =>
  withRowCheckpoint((at) => {
    adaptRows(at, [5]);
    const path = at(join("adapted", UPDATE_FILE));
    const content = readSafetensors(path);
    const real = content.metadata.base;
    const [link, folder, file] = [at("link"), at("empty"), at("file")];
    Deno.symlinkSync(real, link);
    Deno.mkdirSync(folder);
    Deno.writeTextFileSync(file, "");
    const forged = (base: string) =>
      writeSafetensors(path, { ...content, metadata: { ...content.metadata, base } });
    forged(real);
    loadCheckpoint(at("adapted"));
    const expected = {
      [`${real}/../step-00000003`]: "not in the form that adapt writes",
      [`${real}/`]: "not in the form that adapt writes",
      "run/checkpoints/step-00000003": "not in the form that adapt writes",
      "": "not in the form that adapt writes",
      [link]: "a link",
      [folder]: "no checkpoint",
      [file]: "no checkpoint",
      "/": "no checkpoint",
      [at("adapted")]: "no checkpoint",
      [at("run")]: "no checkpoint",
      [`${folder}/x`]: "it does not exist",
      "/a\0b": "not in the form that adapt writes",
    };
    for (const [base, fault] of Object.entries(expected)) {
      forged(base);
      const { message } = assertThrows(() => loadCheckpoint(at("adapted")), UserError, fault);
      assertEquals(message.split("\n").length, 1);
      assertEquals(message.split("its base is")[0], `Cannot read ${at("adapted")}: `);
    }
  }));

Deno.test("loadCheckpoint() rejects damaged rows", () =>
  withRowCheckpoint((at) => {
    adaptRows(at, [5, 6]);
    const path = at(join("adapted", UPDATE_FILE));
    const bytes = Deno.readFileSync(path);
    for (const change of [bytes.length - 3, bytes.length - 200]) {
      Deno.writeFileSync(path, bytes.map((byte, i) => i === change ? byte ^ 1 : byte));
      assertThrows(() => loadCheckpoint(at("adapted")), FormatError, "damaged");
    }
    Deno.writeFileSync(path, bytes.subarray(0, bytes.length - 9));
    assertThrows(() => loadCheckpoint(at("adapted")), FormatError);
  }));
