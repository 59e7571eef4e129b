/** A service with the tiny model, and questions for it. @module */
import { dataJson, NO_DATA } from "../../../lib/data/addresses/known_addresses.ts";
import { PingService } from "../../../lib/serve/api/ping_service.ts";
import type { BatchOptions } from "../../../lib/serve/api/queues.ts";
import type { ModelInfo } from "../../../lib/serve/api/schemas.ts";
import type { QuestionOf } from "../../../lib/query/questions/questions.ts";
import type { PingModel } from "../../../lib/query/ping_model.ts";
import { withTinyModel } from "../../query/tiny_model.ts";

export const INFO: ModelInfo = {
  version: "0.0.0",
  step: 0,
  num_parameters: 1,
  vocabulary: "v2",
  model_sha256: "00",
  data_fingerprint: "none",
  trained_tokens: 0,
  config: {},
  is_calibrated: false,
  data: dataJson(NO_DATA),
  training_curve: [],
  evaluation: null,
};

/** Runs a test on the service. The weights are scaled so that predictions are neither uniform nor certain. */
export async function withService(
  test: (service: PingService, model: PingModel) => Promise<void>,
  batch: BatchOptions = {},
): Promise<void> {
  await withTinyModel((model) => test(new PingService(model, { info: INFO, batch }), model), 3);
}

/** A question between two addresses, different for each number. */
export function questionOf(number: number): QuestionOf<"rtt"> & { time: number } {
  return { src: "192.0.2.1", dst: `198.51.100.${number % 256}`, time: 1_700_000_000 + number };
}

/** Streams items and calls back on each pull. */
export async function* streamOf<T>(items: Iterable<T>, onPull: () => void = () => {}): AsyncGenerator<T> {
  for (const item of items) {
    onPull();
    yield await Promise.resolve(item);
  }
}
