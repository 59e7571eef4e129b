import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { packTar } from "modern-tar";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { UserError } from "../../../lib/base/errors.ts";
import { listMeasurementFiles } from "../../../lib/data/measurement_files/input_files.ts";
import type { ImportSummary } from "../../../lib/data/import/import_measurements.ts";
import { openNames } from "../../../lib/data/addresses/places/open_names.ts";
import { MAX_OBJECT_BYTES } from "../../../lib/io/text/json_stream.ts";
import { runProgram, succeeded } from "../../cli/process.ts";
import { joinBatches, readAll, realData } from "../measurement_files/batches.ts";
import { ping } from "../formats/ping_result.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";
import { importInto, rejectsIn, rowsIn } from "./imported.ts";

/** Imports in a separate process, so that nothing else uses its memory. */
const CHILD = fromFileUrl(new URL("import_memory_child.ts", import.meta.url));

const list = (path: string) => listMeasurementFiles([path]);

for (
  const [folder, rows, failed, sources, destinations] of [
    ["menog-2019-05", 5310, 2180, 225, 12],
    ["geo-2020-10", 960, 30, 18, 10],
    ["starlink-2022-12", 186, 1, 130, 2],
  ] as const
) {
  Deno.test(`importMeasurements() reads ${folder}`, async () => {
    const data = realData(`atlas/${folder}`);
    await withFolder(async (output) => {
      const summary = await importInto(output, list(data));
      assertEquals(summary.rejected, {});
      const counts = [summary.rows, summary.failed, summary.sources, summary.destinations];
      assertEquals(counts, [rows, failed, sources, destinations]);
      assertEquals((await rowsIn(output)).numRows, rows);
    });
  });
}

Deno.test("importMeasurements() reads the members of an archive, and names them in rejects", async () => {
  await withFolder(async (folder) => {
    const dst = "198.51.100.7";
    const texts = [
      `src,dst,time,rtt\n192.0.2.1,${dst},1767225600,5\n192.0.2.1,?,1767225600,5\n`,
      ["192.0.2.2", "192.0.2.3"].map((src) => JSON.stringify({ src, dst, time: 1767225600, rtt: 7 })).join(
        "\n",
      ),
    ];
    const entries = texts.map((text, i) => ({
      header: { name: ["a.csv", "b.jsonl"][i], size: text.length },
      data: new TextEncoder().encode(text),
    }));
    const path = `${folder}/r.tgz`;
    Deno.writeFileSync(path, gzipSync(await packTar(entries)));
    const { rows, sources } = await importInto(folder, [path], { maxRejectRatio: 0.5 });
    assertEquals([rows, sources], [3, 3]);
    const [{ path: rejected, row }] = rejectsIn(folder);
    assertEquals([rejected, row], [`${path}:a.csv`, 1]);
  });
});

/** Skipped results by file. */
const ODD: Record<string, Record<string, number>> = {
  "sagan-tests.jsonl": { "clock not synchronised": 1 },
  "empty_from.jsonl": { "nothing sent": 2 },
  "empty_src_addr.jsonl": { "nothing sent": 5 },
  "packet_error.jsonl": { "nothing sent": 2 },
  "sent_differs_from_list_length.jsonl": { "nothing sent": 1 },
};

Deno.test("importMeasurements() accounts for every line of the edge-case files", async () => {
  const data = realData("atlas/edge-cases");
  await withFolder(async (folder) => {
    for (const path of list(data)) {
      // Imported with a good file, since a file without any usable result fails.
      const good = `${folder}/good.json`;
      Deno.writeTextFileSync(good, JSON.stringify(ping({ timestamp: 1_500_000_000 })));
      const { rows, duplicates, skippedByType, rejected } = await importInto(folder, [path, good], {
        maxRejectRatio: 1,
      });
      const numLines = Deno.readTextFileSync(path).trim().split("\n").length;
      const numRejected = Object.values(rejected).reduce((sum, count) => sum + count, 0);
      const numSkipped = Object.values(skippedByType).reduce((sum, count) => sum + count, 0);
      assertEquals(rows + duplicates + numRejected + numSkipped, numLines + 1, path);
      const [name] = path.split("/").slice(-1);
      assertEquals(skippedByType, ODD[name] ?? {}, path);
    }
  });
});

Deno.test("importMeasurements() reads a single result, lists in objects and JSON lines alike", () =>
  withFolder(async (folder) => {
    const times = Array.from({ length: 20 }, (_, i) => 1_600_000_000 + i);
    const results = times.map((timestamp, i) => ping({ timestamp, result: [{ rtt: i + 1 }] }));
    const texts = [
      JSON.stringify(results),
      results.map((result) => JSON.stringify(result)).join("\n"),
      JSON.stringify({ meta: 2, data: [[results.slice(0, 5)], { more: results.slice(5) }] }, null, 1),
      results.map((result) => JSON.stringify({ file: "x", result })).join("\n"),
    ];
    for (const text of texts) {
      Deno.writeFileSync(`${folder}/in.json.gz`, new Uint8Array(gzipSync(text)));
      const { rows } = await importInto(folder, [`${folder}/in.json.gz`]);
      assertEquals(rows, 20);
      assertEquals(Array.from((await rowsIn(folder)).rttMs), results.map((_, i) => i + 1));
    }
  }));

Deno.test("importMeasurements() names addresses by host, else by probe, else by measurement", () =>
  withFolder(async (folder) => {
    const [namesPath, path] = [`${folder}/out.names.csv`, `${folder}/in.jsonl`];
    const results = [
      ping({ msm_id: 7, prb_id: 5, from: "193.0.14.5", dst_addr: "193.0.14.6", dst_name: "193.0.14.6" }),
      ping({ dst_name: 'k.root, "the" server' }),
      ping({ timestamp: 1_600_000_001, dst_name: "another" }),
      ping({ prb_id: 9, from: "193.0.14.6", dst_name: "" }),
      ping({ prb_id: 4, from: "193.0.14.4", dst_addr: "193.0.14.7", dst_name: "a\u001b[2Jb" }),
      ping({ prb_id: 3, from: "193.0.14.5", dst_addr: "193.0.14.8", dst_name: ["x"] }),
    ];
    Deno.writeTextFileSync(path, results.map((result) => JSON.stringify(result)).join("\n"));
    await importInto(folder, [path], { namesPath });
    const names = await openNames([namesPath]);
    assertEquals([...names.entries()], [
      ["193.0.14.129", 'k.root, "the" server'],
      ["193.0.14.5", "probe 5"],
      ["193.0.14.1", "probe 2"],
      ["193.0.14.6", "probe 9"],
      ["193.0.14.4", "probe 4"],
      ["193.0.14.7", "measurement 1"],
      ["193.0.14.8", "measurement 1"],
    ]);
  }));

Deno.test("importMeasurements() counts duplicates, other results and rejects, and lists the rejects", () =>
  withFolder(async (folder) => {
    const path = `${folder}/in.jsonl`;
    const lines = [
      ...Array.from({ length: 40 }, (_, i) => ping({ timestamp: 1_600_000_000 + i })),
      ping({ result: [{ rtt: 77 }] }),
      ping({ msm_id: 3 }),
      ping({ type: "traceroute" }),
      { error: { status: 500 } },
      ping({ prb_id: 3, dst_addr: "" }),
    ].map((line) => JSON.stringify(line));
    const others = [`{"type": "ping", "from": "cut`, JSON.stringify(ping({ prb_id: 9 }))];
    Deno.writeTextFileSync(path, [...lines, ...others].join("\n"));
    const summary = await importInto(folder, [path]);
    assertEquals(summary.rows, 42);
    assertEquals(summary.duplicates, 1);
    assertEquals(summary.skippedByType, { "not a result": 1, traceroute: 1 });
    assertEquals(summary.rejected, { invalidJson: 1, nullValue: 1 });
    assertEquals([summary.firstTimeS, summary.lastTimeS], [1_600_000_000, 1_600_000_039]);
    assertEquals(rejectsIn(folder).map(({ reason, path: file, row }) => [reason, file === path, row]), [
      ["nullValue", true, 42],
      ["invalidJson", true, 43],
    ]);
  }));

for (const rtt of ["mean", "each"] as const) {
  Deno.test(`importMeasurements() writes the same with any memory for finding duplicates, with rtt ${rtt}`, () =>
    withFolder(async (folder) => {
      // Each third result repeats an earlier one, from another address and with another RTT.
      const lines = Array.from({ length: 300 }, (_, i) => {
        const isAgain = i % 3 === 2;
        const key = { msm_id: 2 ** 32 + i % 2, prb_id: isAgain ? i - 2 : i, timestamp: 1_600_000_000.5 };
        const result = [{ rtt: i + 1 }, { rtt: i + 2 }];
        return JSON.stringify(ping({ ...key, from: `193.0.${i >> 8}.${i & 255}`, rcvd: 2, sent: 2, result }));
      });
      lines.push(...lines.slice(0, 2), lines[0], JSON.stringify(ping({ msm_id: undefined })));
      Deno.writeTextFileSync(`${folder}/in.jsonl`, lines.join("\n"));
      const made: [ImportSummary, Uint8Array][] = [];
      for (const memoryLimitBytes of [1e9, 20_000, 2000]) {
        const summary = await importInto(folder, [`${folder}/in.jsonl`], { rtt, memoryLimitBytes });
        made.push([summary, Deno.readFileSync(`${folder}/out.parquet`)]);
      }
      assertEquals([made[0][0].duplicates, made[0][0].sources], [103, 201]);
      for (const [summary, bytes] of made) {
        assertEquals(summary, made[0][0]);
        assertEquals(bytes, made[0][1]);
      }
      assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["in.jsonl", "out.parquet"]);
    }));
}

Deno.test("importMeasurements() rejects a result once, however many rows it would yield", () =>
  withFolder(async (folder) => {
    const results = Array.from({ length: 100 }, (_, i) =>
      ping({
        ...{ prb_id: i, sent: 3, rcvd: 3, result: [{ rtt: 1 }, { rtt: 2 }, { rtt: 3 }] },
        timestamp: i < 2 ? 4_000_000_000 : 1_600_000_000,
      }));
    Deno.writeTextFileSync(`${folder}/in.jsonl`, results.map((each) => JSON.stringify(each)).join("\n"));
    const { rows, rejected } = await importInto(folder, [`${folder}/in.jsonl`], { rtt: "each" });
    assertEquals([rows, rejected], [294, { timeInFuture: 2 }]);
  }));

Deno.test("importMeasurements() lists at most a hundred types, and truncates long ones", () =>
  withFolder(async (folder) => {
    const lines = [ping(), ping({ type: "x".repeat(500_000) })];
    for (let i = 0; i < 1000; i++) lines.push(ping({ type: `type ${i}` }));
    Deno.writeTextFileSync(`${folder}/in.jsonl`, lines.map((line) => JSON.stringify(line)).join("\n"));
    const { skippedByType } = await importInto(folder, [`${folder}/in.jsonl`]);
    const names = Object.keys(skippedByType);
    assertEquals([names.length, skippedByType.other, skippedByType["type 7"]], [101, 901, 1]);
    assertEquals(Math.max(...names.map(({ length }) => length)), 80);
  }));

Deno.test("importMeasurements() rejects an object that is too long, unless it is a container of results", () =>
  withFolder(async (folder) => {
    const long = JSON.stringify(ping({ note: "x".repeat(MAX_OBJECT_BYTES), prb_id: 3 }));
    const pings = Array.from(
      { length: 30 },
      (_, i) => JSON.stringify(ping({ timestamp: 1_600_000_000 + i })),
    );
    const others = JSON.stringify({ note: "x".repeat(MAX_OBJECT_BYTES), list: [ping({ type: "dns" })] });
    const texts = [
      pings.concat(long, others).join("\n"),
      `[${[...pings, long, others].join(",")}]`,
      `{"note": "${"x".repeat(MAX_OBJECT_BYTES)}", "results": [${[...pings, long, others].join(",")}]}`,
    ];
    for (const text of texts) {
      Deno.writeTextFileSync(`${folder}/in.json`, text);
      const { rows, rejected, skippedByType } = await importInto(folder, [`${folder}/in.json`]);
      assertEquals([rows, rejected], [30, { objectTooLong: 1 }]);
      assertEquals(skippedByType, { dns: 1, "not a result": 1 });
      const [{ reason, row, detail }] = rejectsIn(folder);
      assertEquals([reason, row], ["objectTooLong", 30]);
      const line = text.slice(0, text.indexOf(long)).split("\n").length;
      const found = `more than ${MAX_OBJECT_BYTES} bytes (from byte ${text.indexOf(long)})`;
      assertEquals(detail, `line ${line}: ${found}`);
    }
    Deno.writeTextFileSync(`${folder}/in.json`, `${pings[0]}\n${long}`);
    await assertRejects(() => importInto(folder, [`${folder}/in.json`]), UserError, "objectTooLong 1");
  }));

Deno.test("importMeasurements() rejects inputs without ping results, reports their contents and writes nothing", () =>
  withFolder(async (folder) => {
    const path = `${folder}/in.json`;
    const cases: [string, string][] = [
      ["", "neither objects nor rows"],
      ["[]", "neither objects nor rows"],
      [JSON.stringify([ping({ type: "dns" }), { a: 1 }]), "dns 1, not a result 1"],
      ['{"columns": ["x", "y"], "data": [["192.0.2.1", 5]]}', "not a result 1"],
    ];
    for (const [text, found] of cases) {
      Deno.writeTextFileSync(path, text);
      const { message } = await assertRejects(() => importInto(folder, [path]), UserError);
      const advice = found === "not a result 1" ? ", or name the fields with --columns" : "";
      assertEquals(
        message,
        `Cannot import ${path}: found no measurements (${found}); check --input${advice}`,
      );
      const several = `Cannot import ${path} and 1 more: found no measurements`;
      await assertRejects(() => importInto(folder, [path, path]), UserError, several);
      assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["in.json"]);
    }
  }));

Deno.test("importMeasurements() searches lists of any length", () =>
  withFolder(async (folder) => {
    const wide = { list: [...new Array(450_000).fill(1), ping({ prb_id: 3 })] };
    const path = `${folder}/in.jsonl`;
    Deno.writeTextFileSync(path, [ping(), wide].map((line) => JSON.stringify(line)).join("\n"));
    assertEquals((await importInto(folder, [path])).rows, 2);
  }));

Deno.test("importMeasurements() fails above the reject ratio and leaves no output", () =>
  withFolder(async (folder) => {
    const path = `${folder}/in.json`;
    Deno.writeTextFileSync(path, JSON.stringify([ping(), ping({ timestamp: 0 })]));
    const error = await assertRejects(() => importInto(folder, [path]), UserError);
    assertStringIncludes(error.message, "1 of 2 rows were rejected (invalidTime 1");
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "in.json",
      "out.rejects.jsonl",
    ]);
  }));

/** Files of more than 160 MB and the counts that importing them returns. */
const LONG_FILES = {
  // One object that contains one list, neither of which can be held in memory.
  json: {
    head: `{"results": [`,
    part: Array.from(
      { length: 2000 },
      (_, i) => JSON.stringify(ping({ prb_id: i, note: "x".repeat(300) })) + ",",
    ).join(""),
    count: 180,
    end: `{}]}`,
    imported: [2000, 358_000],
  },
  csv: {
    head: "time,src,dst,rtt,note\n",
    part: Array.from(
      { length: 2000 },
      (_, i) => `1700000000,192.0.2.${i % 200},198.51.100.${i % 250},5,"${"x".repeat(300)}"\n`,
    ).join(""),
    count: 240,
    end: "",
    imported: [480_000, 0],
  },
};

for (const [name, { head, part, count, end, imported }] of Object.entries(LONG_FILES)) {
  Deno.test(`importMeasurements() needs no more memory for a long file of ${name}`, () =>
    withFolder(async (folder) => {
      const path = `${folder}/in.${name}`;
      using file = Deno.openSync(path, { write: true, create: true });
      for (const text of [head, ...Array(count).fill(part), end]) {
        file.writeSync(new TextEncoder().encode(text));
      }
      assert(Deno.statSync(path).size > 160e6);
      const { stdout } = await succeeded(runProgram([CHILD, path, `${folder}/out.parquet`]));
      const { rows, duplicates, moreBytes } = JSON.parse(stdout);
      assertEquals([rows, duplicates], imported);
      assert(moreBytes < 150e6, `${Math.round(moreBytes / 1e6)} MB more`);
    }));
}

Deno.test("importMeasurements() imports a result of a table once, whatever the memory", () =>
  withFolder(async (folder) => {
    const rows = Array.from(
      { length: 800 },
      (_, i) => `${1_700_000_000 + i % 400},192.0.2.1,192.0.2.2,${i + 1},9,${i % 400}`,
    );
    Deno.writeTextFileSync(`${folder}/a.csv`, ["time,src,dst,rtt,msm_id,prb_id", ...rows].join("\n"));
    for (const memoryLimitBytes of [1e9, 2000]) {
      const summary = await importInto(folder, [`${folder}/a.csv`], { memoryLimitBytes });
      assertEquals([summary.rows, summary.duplicates], [400, 400]);
      assertEquals((await rowsIn(folder)).rttMs, Float64Array.from({ length: 400 }, (_, i) => i + 1));
    }
  }));

Deno.test("importMeasurements() lists the rejected rows of a table by number and line", () =>
  withFolder(async (folder) => {
    const good = "1700000000,192.0.2.1,192.0.2.2,1";
    const bad = [",192.0.2.1,192.0.2.2,1", "1700000000,192.0.2.1,,1", "4000000000,192.0.2.1,192.0.2.2,1"];
    Deno.writeTextFileSync(`${folder}/in.csv`, ["time,src,dst,rtt", good, ...bad, good].join("\n"));
    const { rows, rejected } = await importInto(folder, [`${folder}/in.csv`], { maxRejectRatio: 1 });
    assertEquals([rows, rejected], [2, { nullValue: 2, timeInFuture: 1 }]);
    assertEquals(rejectsIn(folder).map(({ row, detail }) => [row, detail]), [
      [
        1,
        "line 3: time; give --start TIME and --interval SECONDS, or the column of a table with --columns time=NAME",
      ],
      [2, "line 4: dst; give it with --dst ADDRESS"],
      [3, "line 5: 2096-10-02T07:06:40.000Z"],
    ]);
    await assertRejects(
      () => importInto(folder, [`${folder}/in.csv`]),
      UserError,
      "3 of 5 rows were rejected",
    );
  }));

Deno.test("importMeasurements() reads back an all-pairs matrix from compressed CSV", async () => {
  const data = realData("mesh");
  await withFolder(async (folder) => {
    const matrix = joinBatches((await readAll([`${data}/seattle-001-040.parquet`])).batches);
    const lines = matrix.srcAddr.map((src, row) => {
      const time = new Date(matrix.eventTimeUs[row] / 1e3).toISOString();
      return `${time},${src},${matrix.dstAddr[row]},${matrix.rttMs[row]}\n`;
    });
    const text = "event_time,src_addr,dst_addr,rtt\n" + lines.join("");
    Deno.writeFileSync(`${folder}/in.csv.zst`, new Uint8Array(zstdCompressSync(text)));
    const { rows, rejected } = await importInto(folder, [`${folder}/in.csv.zst`]);
    assertEquals([rows, rejected], [34_800, {}]);
    const batch = await rowsIn(folder);
    assertEquals([batch.eventTimeUs, batch.rttMs], [matrix.eventTimeUs, matrix.rttMs]);
    assertEquals([batch.srcAddr, batch.dstAddr], [matrix.srcAddr, matrix.dstAddr]);
  });
});

Deno.test("records of JSON tables are read in order, whatever their pieces", () =>
  withFolder(async (folder) => {
    const path = `${folder}/in.jsonl`;
    const write = (count: number, of: (i: number) => object) =>
      Deno.writeTextFileSync(
        path,
        Array.from({ length: count }, (_, i) => `${JSON.stringify({ ...of(i), note: "x".repeat(200) })}\n`)
          .join(""),
      );
    const ends = { src: ["192.0.2.1"], dst: ["198.51.100.7"] };
    // Without a reply, there is no RTT, for longer than a piece.
    write(5000, (i) => ({ time: 1_767_225_600 + i, ...(i > 1500 && i <= 3500 ? {} : { rtt: 5 }) }));
    const { rows: numRows, failed, rejected } = await importInto(folder, [path], ends);
    assertEquals([numRows, failed, rejected], [5000, 2000, {}]);
    // Without times, each record is an interval after the one before.
    write(2000, () => ({ rtt: 5 }));
    const { lastTimeS } = await importInto(folder, [path], { ...ends, startS: 1_767_225_600 });
    assertEquals(lastTimeS, 1_767_225_600 + 1999);
    // Each file begins at that time, as in text, and its last route and its times are checked.
    const copy = `${folder}/copy.jsonl`;
    Deno.copyFileSync(path, copy);
    const both = await importInto(folder, [path, copy], { ...ends, startS: 1_767_225_600 });
    assertEquals([both.rows, both.lastTimeS], [4000, 1_767_225_600 + 1999]);
    const rows = [3, 4].map((rtt) => ({ time: 1_767_225_600, rtt, agent: `agent ${rtt}` }));
    Deno.writeTextFileSync(path, JSON.stringify(rows));
    await assertRejects(() => importInto(folder, [path], ends), UserError, "they differ in agent");
    const hop = { time: 1_767_225_600, hop_ip: "203.0.113.1", rtt: 3 };
    Deno.writeTextFileSync(path, JSON.stringify(hop));
    assertEquals((await importInto(folder, [path], ends)).failed, 1);
  }));
