/**
 * The files that stages write without a manifest, and how each is recognised by its first bytes, so that a
 * stage replaces its own earlier file and no other.
 *
 * @module
 */
import { OutputFile, type OutputFileOptions } from "../lib/io/files/output_file.ts";

/** Options by name, with a pattern for the beginning of their files. */
const OWN = {
  "inspect --plot": signOf("inspect"),
  "query rtt --output": anyOf(
    /^\{"line":\d+,"src":"[^"]*","dst":"[^"]*",.*"context_measurements":\d/,
    /^\{"line":\d+,"error":"(?:[^"\\]|\\.)*"\}\n/,
  ),
  "query rtt --plot": signOf("query rtt"),
  "query destinations --output": rowsOf("prefix", "probability"),
  "query nearest --output": anyOf(
    jsonLine("candidate", "median_ms", "p_nearest"),
    signOf("query nearest"),
    /^candidate,name,median_ms,mean_ms,high_ms,/,
  ),
  "query advise --output": rowsOf("src", "dst", "reduction_ms"),
  "query place --output": rowsOf("address", "kind", "rtt_ms", "least_ms"),
  "query map --output": anyOf(
    signOf("query map"),
    /^\{"type":"FeatureCollection","src":".*?","attribution":/,
    /^country,name,latitude,longitude,cell_degrees,median_ms,q0\.05_ms,q0\.95_ms,p_failed[,\n]/,
  ),
  "query sample --output": /^\{"src":.*"rtt":[^,]*,"order":"/,
  "query likelihood --output": jsonLine("src", "dst", "time", "rtt", "orders"),
  "score --report": /^<!DOCTYPE html>[^]*<meta name="generator" content="ping-llm">\n<title>Scores of /,
  "watch --output": jsonLine("event", "alarm", "time", "since"),
  "watch --report": anyOf(
    /^<!DOCTYPE html>[^]*<meta name="generator" content="ping-llm">\n<title>Report of /,
    /^\{"from":"[^"]*","to":"[^"]*",.*"left_out":\{/,
  ),
  "watch --metrics": /^# HELP ping_llm_watch_/,
};

export type OwnOutput = keyof typeof OWN;
export const OWN_OUTPUTS = Object.keys(OWN) as readonly OwnOutput[];

/** @param overwrite Whether to replace any other file too. */
export function ownOutput(name: OwnOutput, overwrite: boolean): OutputFileOptions {
  return { stage: name.replace(/ --.*/, ""), own: OWN[name], overwrite };
}

/** Opens the file of an option, if given, before the work begins. @throws {UserError} If that fails. */
export function openOwn(
  name: OwnOutput,
  path: string | undefined,
  overwrite: boolean,
): OutputFile | undefined {
  return path === undefined ? undefined : new OutputFile(path, ownOutput(name, overwrite));
}

/** Adds the signature of a stage to a picture. @param svg SVG that begins with its root tag. */
export function signed(svg: string, stage: string): string {
  return svg.replace(/^<svg[^>]*>/, (tag) => `${tag}<!-- ping-llm ${stage} -->`);
}

function signOf(stage: string): RegExp {
  return new RegExp(`^<svg[^>]*><!-- ping-llm ${stage} -->`);
}

/** Matches a line of JSON by its first key and some later keys, in order. */
function jsonLine(first: string, ...further: string[]): RegExp {
  return new RegExp(`^\\{"${first}":${further.map((key) => `.*"${key}":`).join("")}`);
}

/** Matches rows as JSON lines or CSV by the first field and some later fields, in order. */
function rowsOf(first: string, ...further: string[]): RegExp {
  return anyOf(jsonLine(first, ...further), new RegExp(`^${[first, ...further].join(",(?:\\w+,)*")}[,\n]`));
}

function anyOf(...patterns: RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join("|"));
}
