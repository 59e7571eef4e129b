/**
 * Where the model is and how far it is, for the line below the page's heading.
 *
 * @module
 */
import type { PingApi } from "../api/ping_api.ts";

/** The state of the model that answers. */
export type ModelStatus =
  /** It runs on the server; there is nothing to say. */
  | { state: "remote" }
  /** Its weights are on their way. */
  | { state: "loading"; loadedBytes: number; totalBytes: number }
  /** The weights are here; the GPU is made ready. */
  | { state: "starting" }
  /** It runs in this browser. */
  | {
    state: "ready";
    /** Bytes that the browser keeps of it; 0 if it keeps none. */
    cachedBytes: number;
    /** Removes what the browser keeps. The model goes on until the page is closed. */
    deleteCached: () => Promise<void>;
  }
  /** It cannot run here. `message`: what is missing and what to do, for people. */
  | { state: "failed"; message: string };

/** The API that answers the page's questions. */
export interface OpenedApi {
  /** Its methods wait until the model is ready, and throw if it fails. */
  api: PingApi;
  /** Whether the page comes from a server that also answers programs (`/openapi.json`). */
  hasServer: boolean;
  /** Calls with each state, the present one at once. @returns A function that ends that. */
  watchStatus: (listener: (status: ModelStatus) => void) => () => void;
}
