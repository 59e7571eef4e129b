import { readWhole } from "../../../lib/io/compression/decompress.ts";

/** Contents of the files in an output folder, by file name. */
export async function answersIn(folder: string): Promise<string[]> {
  const names = [...Deno.readDirSync(`${folder}/results`)].map(({ name }) => name).sort();
  return await Promise.all(
    names.map(async (name) => new TextDecoder().decode(await readWhole(`${folder}/results/${name}`))),
  );
}

/** The points of each series, in file order. */
export async function pointsIn(folder: string): Promise<unknown[][]> {
  const series = new Map<string, unknown[]>();
  for (const text of await answersIn(folder)) {
    for (const { metric, values } of JSON.parse(text).data.result) {
      const key = JSON.stringify(metric);
      series.set(key, [...series.get(key) ?? [], ...values]);
    }
  }
  return [...series.values()];
}
