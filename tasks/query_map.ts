/** `query map`: the RTTs from one source to everywhere, as a picture, GeoJSON or CSV. @module */
import { UsageError } from "../lib/base/errors.ts";
import { formatMs } from "../lib/base/text.ts";
import type { OptionsOf } from "../lib/cli/command.ts";
import { defineStage, serveStage, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { OutputFile } from "../lib/io/files/output_file.ts";
import { contextThatFits } from "../lib/query/query_tokens.ts";
import { QUESTIONS } from "../lib/query/questions/questions.ts";
import { MAP_LEVELS } from "../lib/query/questions/map.ts";
import { MAP_FORMATS } from "../lib/query/rtt/map_format.ts";
import { type MapRtt, RttMaps } from "../lib/query/rtt/rtt_map.ts";
import { askedModel, contextOf, logContext } from "./query_options.ts";
import { askModel, givenQuestion } from "./query_questions.ts";
import { ownOutput, signed } from "./own_outputs.ts";
import { timeOf, withAddresses } from "../lib/query/rtt/rtt_question.ts";
import { queryMapCommand } from "./query_map.command.ts";

type Options = OptionsOf<typeof queryMapCommand>;

export const mapStage = defineStage(queryMapCommand, async (options, stage) => {
  if (options.output !== undefined) return await writeMap({ ...options, output: options.output }, stage);
  const given = await givenQuestion(QUESTIONS.map, options, stage);
  using model = await askedModel(options, stage);
  const answer = await askModel(QUESTIONS.map, given, model, stage);
  return { text: QUESTIONS.map.text(answer), json: answer };
});

async function writeMap(options: Options & { output: string }, stage: StageContext): Promise<StageResult> {
  const { output, layer, overwrite } = options;
  const write = MAP_FORMATS.get(/\.([a-z]+)$/.exec(output)?.[1] ?? "");
  if (!write) {
    throw new UsageError(
      `Cannot use --output ${output}: expected a name that ends with .svg, .geojson, .json or .csv`,
    );
  }
  const timeS = timeOf(options.time);
  const context = await contextOf(options, stage, timeS);
  using file = new OutputFile(output, ownOutput("query map --output", overwrite));
  using model = await askedModel(options, stage);
  const maps = new RttMaps(model);
  const { src } = withAddresses({ src: options.src }, model.names);
  const source = maps.source(src);
  const whole = { source: source.bytes, destination: source.bytes, timeS, context };
  const contextMeasurements = contextThatFits(whole, model.config.sequenceLength).length;
  logContext(stage, contextMeasurements, context);
  const areas = MAP_LEVELS.flatMap((level) => [...maps.areas(level, source)]);
  using progress = stage.progress("answering", { unit: "places", total: areas.length });
  const origin = await maps.origin(source, { timeS, context });
  const places: MapRtt[] = [];
  for await (const place of maps.rtts(areas, origin)) {
    stage.signal.throwIfAborted();
    progress.update(places.push(place));
  }
  progress.finish();
  const geoFiles = model.config.places?.sources ?? [];
  const shown = model.names.shown(src);
  file.finish(signed(write({ src: shown, places, layer, mark: origin.position, geoFiles }), "query map"));
  const countries = places.filter(({ cell_degrees }) => cell_degrees === null);
  const nearest = countries.toSorted((a, b) => a.median_ms - b.median_ms).slice(0, 5);
  const named = nearest.map(({ name, median_ms, basis }) => `${name} ${formatMs(median_ms)} (${basis})`).join(
    ", ",
  );
  return {
    text: `the RTTs to ${countries.length} countries and ${places.length - countries.length} cells in them ` +
      `in ${output}; ` +
      `shortest medians: ${named}`,
    json: {
      src,
      ...model.names.namedEnds({ src }),
      time: timeS,
      output,
      num_places: places.length,
      step: model.step,
    },
  };
}

if (import.meta.main) serveStage(mapStage);
