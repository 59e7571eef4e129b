import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../../lib/base/errors.ts";
import { readContext, readMeasurementFiles } from "../../../lib/query/files/measurement_files.ts";
import { ArrivingMeasurements } from "../../../lib/query/files/arriving.ts";
import { USUAL_READING } from "../../../lib/data/formats/format.ts";
import { formatAddress } from "../../../lib/data/addresses/ip.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { makeBatch, writeParquet } from "../../data/measurement_files/batches.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";
import { knownAt } from "../../../lib/query/query_tokens.ts";

const PING = {
  type: "ping",
  msm_id: 1,
  prb_id: 2,
  timestamp: 1_600_000_000,
  from: "192.0.2.1",
  dst_addr: "198.51.100.7",
  af: 4,
  sent: 2,
  rcvd: 2,
  size: 64,
  result: [{ rtt: 10 }, { rtt: 20 }],
};

Deno.test("readMeasurementFiles() reads our measurements and Atlas ping results alike", () =>
  withFolder(async (folder) => {
    const ours = { src: "192.0.2.1", dst: "198.51.100.7", time: 1_600_000_000, rtt: 15 };
    const atlas = { ...PING, from: undefined, src_addr: "192.0.2.1" };
    const lines = [ours, { ...PING, type: "dns" }, atlas].map((value) => JSON.stringify(value));
    Deno.writeTextFileSync(join(folder, "a.jsonl"), lines.join("\n\n"));
    const { measurements: [a, b, ...others], skipped } = await readMeasurementFiles([folder], { most: 9 });
    assertEquals(a, b);
    assertEquals([a.rttCode, a.timeS], [encodeRttCode(15), 1_600_000_000]);
    assertEquals([others, skipped], [[], { dns: 1 }]);
    const inSeconds = join(folder, "seconds.jsonl");
    Deno.writeTextFileSync(inSeconds, JSON.stringify({ ...ours, rtt: 0.015 }));
    assertMatch(
      (await readContext(inSeconds)).advice ?? "",
      /median RTT is 0.01.* ms, which looks like seconds/,
    );
  }));

Deno.test("times of lines are exact for watch and whole seconds for a context", () =>
  withFolder(async (folder) => {
    const ours = { src: "192.0.2.1", dst: "198.51.100.7", time: "2020-09-13T12:26:40.123456Z", rtt: 15 };
    const text = JSON.stringify(ours);
    Deno.writeTextFileSync(join(folder, "a.jsonl"), text);
    const { signal } = new AbortController();
    const options = { isFollowing: false, reading: USUAL_READING, signal, log: () => {} };
    const [arrived] = await Array.fromAsync(new ArrivingMeasurements([folder], options));
    assertEquals(arrived.timeS, 1_600_000_000.123456);
    const { measurements: [{ timeS }] } = await readContext(join(folder, "a.jsonl"));
    assertEquals(timeS, 1_600_000_000);
  }));

Deno.test("readMeasurementFiles() keeps the newest across Parquet and JSON lines", () =>
  withFolder(async (folder) => {
    writeParquet(join(folder, "a.parquet"), makeBatch(300));
    const { measurements: all } = await readContext(join(folder, "a.parquet"));
    const lines = all.slice(100).map(({ source, destination, timeS }) =>
      JSON.stringify({ src: formatAddress(source), dst: formatAddress(destination), time: timeS, rtt: 7 })
    );
    Deno.writeTextFileSync(join(folder, "b.jsonl"), lines.join("\n"));
    const { measurements, numRead } = await readMeasurementFiles([folder], { most: 40 });
    assertEquals([numRead, measurements.length], [500, 40]);
    const newest = new Set(all.slice(-20).map(({ timeS }) => timeS));
    assert(measurements.every(({ timeS }) => newest.has(timeS)));
    const isWanted = ({ rttCode }: { rttCode: number | null }) => rttCode === encodeRttCode(7);
    assertEquals((await readMeasurementFiles([folder], { most: 1000, isWanted })).measurements.length, 200);
    Deno.writeTextFileSync(
      join(folder, "b.jsonl"),
      [...lines, ...Array(40).fill(`{"src": "192.0.2.1", "dst": "x", "rtt": 1}`)].join("\n"),
    );
    const error = await assertRejects(() => readMeasurementFiles([folder], { most: 40 }), UserError);
    assert(error.message.includes("40 of 540 rows were rejected"), error.message);
  }));

Deno.test("ArrivingMeasurements yields the measurement and probe ids in Parquet", () =>
  withFolder(async (folder) => {
    const path = join(folder, "a.parquet");
    const batch = makeBatch(60);
    const { msmId: _, prbId: __, ...without } = makeBatch(20, 60);
    writeParquet(path, batch);
    writeParquet(join(folder, "b.parquet"), without);
    const options = {
      isFollowing: false,
      reading: USUAL_READING,
      signal: new AbortController().signal,
      log: () => {},
    } as const;
    const ids: unknown[] = [];
    for await (const { msmId, prbId } of new ArrivingMeasurements([folder], options)) {
      ids.push([msmId, prbId]);
    }
    const known = (id: number) => Number.isNaN(id) ? undefined : id;
    assertEquals(ids, [
      ...Array.from(batch.msmId, (msmId, i) => [known(msmId), known(batch.prbId[i])]),
      ...Array(20).fill([undefined, undefined]),
    ]);
  }));

Deno.test("ArrivingMeasurements reads a replaced file to its end", () =>
  withFolder(async (folder) => {
    const path = join(folder, "ping.log");
    const ended = new AbortController();
    const reading = { ...USUAL_READING, src: ["192.0.2.1"] };
    const options = { isFollowing: true, reading, signal: ended.signal, log: () => {} } as const;
    const line = (sequence: number, result: string) =>
      `[${1_700_000_000 + sequence}.000000] ${result} icmp_seq=${sequence}`;
    const reply = (sequence: number) => `${line(sequence, "64 bytes from 192.0.2.7:")} ttl=57 time=5.0 ms\n`;
    const losses = Array.from({ length: 7 }, (_, i) => `${line(2 + i, "no answer yet for")}\n`);
    await Deno.writeTextFile(path, reply(1) + losses.join(""));
    const found: (number | null)[] = [];
    for await (const { rttCode } of new ArrivingMeasurements([path], options).measurements()) {
      found.push(rttCode);
      if (found.length === 1) {
        await Deno.rename(path, `${path}.1`);
        await Deno.writeTextFile(path, reply(9));
      } else if (found.length === 9) ended.abort();
    }
    assertEquals(found, [encodeRttCode(5), ...Array(7).fill(null), encodeRttCode(5)]);
  }));

Deno.test("readContext() returns the newest measurements, oldest first, and reports an unsorted file", () =>
  withFolder(async (folder) => {
    const path = join(folder, "context.parquet");
    writeParquet(path, makeBatch(5000));
    const inOrder = await readContext(path);
    assertEquals([inOrder.isSorted, inOrder.measurements.length], [true, 4096]);
    writeParquet(path, makeBatch(2500, 2500), makeBatch(2500));
    const sorted = await readContext(path);
    assertEquals(sorted.isSorted, false);
    assertEquals(sorted.measurements, inOrder.measurements);
    // Rows 0, 7, … have no reply; the first remaining row is 904.
    assertEquals(
      sorted.measurements.slice(0, 7).map(({ rttCode }) => rttCode === null),
      Array.from({ length: 7 }, (_, i) => (904 + i) % 7 === 0),
    );
  }));

Deno.test("readContext() skips and counts measurements after a time, and knownAt() skips the same ones", () =>
  withFolder(async (folder) => {
    const path = join(folder, "context.parquet");
    writeParquet(path, makeBatch(5000));
    const { measurements: all } = await readContext(path);
    const untilS = all[100].timeS;
    const { measurements, numLater } = await readContext(path, untilS);
    assertEquals(measurements.at(-1)?.timeS, untilS);
    assertEquals(numLater + measurements.length, 5000);
    assertEquals(knownAt(all, untilS), measurements.slice(-101));
    assertEquals(knownAt(all, null), all);
    assertEquals(knownAt(all, 0), []);
  }));
