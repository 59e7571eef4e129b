import { assertEquals, assertStringIncludes } from "@std/assert";
import { DEFAULT_WATCH_OPTIONS, PairWatch } from "../../lib/query/changes/pair_watch.ts";
import { makeApp } from "../../lib/serve/app.ts";
import { ServedModels } from "../../lib/serve/served_models.ts";
import { HttpServer } from "../../lib/serve/server.ts";
import { ServerMetrics } from "../../lib/serve/metrics.ts";
import { withService } from "./api/tiny_service.ts";

const LIMITS = { maxBodyBytes: 1024, maxRequestS: 10, maxConnections: 4, maxClientConnections: 4 };

Deno.test("the server says that it is ill when its GPU is lost", () =>
  withService(async (service, { gpu }) => {
    const models = new ServedModels({
      service,
      tag: "1",
      step: 1,
      fault: () => gpu.fault,
      close: () => {},
    });
    const place = { host: "127.0.0.1", limits: LIMITS };
    const { fetch: answer } = makeApp({
      ...place,
      models,
      metrics: new ServerMetrics(),
      allowOrigins: [],
      pageFiles: new Map(),
      stopping: new AbortController().signal,
      log: () => {},
      watched: {
        watch: new PairWatch({ ...DEFAULT_WATCH_OPTIONS, maxPairs: 1 }),
        maxPairs: 1,
        numUnusable: 0,
      },
    });
    const server = await HttpServer.listen({ ...place, port: 0, fetch: answer });
    const health = async () => {
      const response = await fetch(new URL("/healthz", server.url));
      return { status: response.status, text: await response.text() };
    };
    assertEquals(await health(), { status: 200, text: "ok\n" });
    gpu.close();
    await gpu.device.lost;
    const { status, text } = await health();
    assertEquals(status, 503);
    assertStringIncludes(text, "the GPU device was lost");
    await server.stop(1);
  }));
