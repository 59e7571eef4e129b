/** All questions to a model, by name. @module */
import { advise } from "./advise.ts";
import { destinations } from "./destinations.ts";
import { likelihood } from "./likelihood.ts";
import { map } from "./map.ts";
import { matrix } from "./matrix.ts";
import { nearest } from "./nearest.ts";
import { place } from "./place.ts";
import { places } from "./places.ts";
import { rtt } from "./rtt.ts";
import { sample } from "./sample.ts";
import { scores } from "./scores.ts";

/** Each is a command, a path `/v1/NAME` and a tool for assistants. */
export const QUESTIONS = {
  rtt,
  destinations,
  nearest,
  matrix,
  map,
  place,
  places,
  likelihood,
  sample,
  advise,
};
export type QuestionName = keyof typeof QUESTIONS;

/** What a program asks with `Model.ask()`. */
export const ASKED = { ...QUESTIONS, score: scores };
/** @internal The schemas of all kinds. */
export type Asked = typeof ASKED;

/** A kind of question: `rtt`, `nearest` and so on. */
export type QuestionKind = keyof Asked;
/** The fields of a question, as in a request over HTTP. */
export type QuestionOf<Kind extends QuestionKind> = Asked[Kind]["question"]["_zod"]["input"];
/** The answer to a question, as over HTTP. */
export type AnswerOf<Kind extends QuestionKind> = Asked[Kind]["answer"]["_zod"]["output"];
