/** All questions to a model, by name. @module */
import { advise } from "./advise.ts";
import { destinations } from "./destinations.ts";
import { likelihood } from "./likelihood.ts";
import { map } from "./map.ts";
import { matrix } from "./matrix.ts";
import { nearest } from "./nearest.ts";
import { places } from "./places.ts";
import type * as z from "zod";
import { rtt } from "./rtt.ts";
import { sample } from "./sample.ts";

/** Each is a command, a path `/v1/NAME` and a tool for assistants. */
export const QUESTIONS = { rtt, destinations, nearest, matrix, map, places, likelihood, sample, advise };
export type QuestionName = keyof typeof QUESTIONS;
export type QuestionOf<N extends QuestionName> = z.input<(typeof QUESTIONS)[N]["question"]>;
export type AnswerOf<N extends QuestionName> = z.output<(typeof QUESTIONS)[N]["answer"]>;
