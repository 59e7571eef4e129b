/**
 * What answers the page: the server that it comes from.
 *
 * @module
 */
import { httpApi } from "./http_api.ts";
import type { OpenedApi } from "./model_status.ts";

/** Opens the API that the page is made for. @param document The page. */
export function openApi(document: Document): OpenedApi {
  return {
    api: httpApi(document.baseURI),
    hasServer: true,
    watchStatus: (listener) => {
      listener({ state: "remote" });
      return () => {};
    },
  };
}
