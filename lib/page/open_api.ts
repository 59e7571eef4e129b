/**
 * What answers the page: a model in this browser, if the page is part of an exported site, else the server that it comes
 * from.
 *
 * @module
 */
import { httpApi } from "./http_api.ts";
import type { OpenedApi } from "./model_status.ts";
import { openWorkerApi } from "./worker_api.ts";

/** Opens the API that the page is made for. @param document The page. */
export function openApi(document: Document): OpenedApi {
  const site = document.querySelector<HTMLMetaElement>('meta[name="ping-llm-site"]')?.content;
  if (site) return openWorkerApi(new URL(site, document.baseURI));
  return {
    api: httpApi(document.baseURI),
    hasServer: true,
    watchStatus: (listener) => {
      listener({ state: "remote" });
      return () => {};
    },
  };
}
