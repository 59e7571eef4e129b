/**
 * Messages between the page and the worker with the model.
 *
 * @module
 */
import type { PingApi } from "../api/ping_api.ts";
import type { ModelStatus } from "./model_status.ts";

/** An operation of the API. */
export type Operation = keyof PingApi;

/** From the page to the worker. */
export type PageMessage =
  /** Loads the model. `site`: the address of `site.json`. */
  | { kind: "open"; site: string }
  | { kind: "ask"; id: number; operation: Operation; args: readonly unknown[] }
  /** The answer is not wanted any more. */
  | { kind: "abort"; id: number };

/** From the worker to the page. */
export type WorkerMessage =
  | { kind: "status"; status: Extract<ModelStatus, { state: "loading" | "starting" | "failed" }> }
  /** Questions are answered from here on. */
  | { kind: "ready" }
  | { kind: "answer"; id: number; answer: unknown }
  /** `detail`: what went wrong, for people. */
  | { kind: "problem"; id: number; detail: string };
