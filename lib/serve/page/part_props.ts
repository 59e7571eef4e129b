/** The properties of each part of the page. @module */
import type { ModelApiAnswer } from "../api/schemas.ts";
import type { OpenedApi } from "./model_status.ts";
import type { FieldName, Fields } from "./url_state.ts";
import type { Answer } from "./answer_state.tsx";

/** See the module. */
export interface PartProps {
  opened: OpenedApi;
  /** The description of the model. */
  model: Answer<ModelApiAnswer>;
  /** The fields as they were when the question was sent. */
  fields: Fields;
  /** When it was sent, milliseconds since 1970. */
  askedAtMs: number;
  /** The fields as they are now. */
  drafts: Fields;
  setDraft: (name: FieldName, text: string) => void;
  /** Asks what stands in the fields, after some changes. */
  submit: (changes?: Fields) => void;
}
