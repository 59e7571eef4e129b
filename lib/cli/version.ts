/** The text of `--version`: the version, the commit, and the engines that run the program. @module */
import config from "../../deno.json" with { type: "json" };
import { VERSION } from "../base/version.ts";
import { dirname, fromFileUrl, join, resolve } from "@std/path";

const ROOT = new URL("../../", import.meta.url);
/** An argument before the user's, embedded by `deno compile`: an executable has no checkout to look in. */
const EMBEDDED = /^--commit=([0-9a-f]+)$/;

/**
 * The text of `--version`.
 *
 * @param commit The commit that an executable was compiled from. By default the commit in deno.json, which
 *   releases have, or the checkout's commit.
 */
export function versionText(commit: string | undefined = programCommit()): string {
  return [
    `ping-llm ${VERSION}${commit ? ` (commit ${commit.slice(0, 12)})` : ""}`,
    `deno ${Deno.version.deno} (${Deno.build.target})`,
    `v8 ${Deno.version.v8}`,
    `webgpu ${navigator.gpu ? "wgpu, part of Deno" : "none"}`,
  ].join("\n");
}

/** The commit of this program, in hexadecimal; undefined if neither deno.json nor a checkout names it. */
export function programCommit(): string | undefined {
  return (config as { commit?: string }).commit ?? checkoutCommit(gitFolders());
}

/** The arguments from which {@link splitEmbedded} reads the commit. */
export function embedCommit(commit: string | undefined): string[] {
  return commit === undefined ? [] : [`--commit=${commit}`];
}

/** Splits an executable's arguments into the commit that it was compiled from and the user's arguments. */
export function splitEmbedded(args: readonly string[]): { commit?: string; words: readonly string[] } {
  const [, commit] = EMBEDDED.exec(args[0] ?? "") ?? [];
  return commit === undefined ? { words: args } : { commit, words: args.slice(1) };
}

/**
 * The folders that identify a checkout's commit: `.git`, and for a worktree the folders that it refers to.
 *
 * @param root The folder of the checkout.
 */
export function gitFolders(root: URL = ROOT): string[] {
  if (root.protocol !== "file:") return [];
  const git = join(fromFileUrl(root), ".git");
  const [, linked] = /^gitdir: (.*)$/m.exec(textOf(git) ?? "") ?? [];
  const folder = linked === undefined ? git : resolve(dirname(git), linked);
  return [...new Set([git, folder, resolve(folder, textOf(`${folder}/commondir`) ?? ".")])];
}

/** Finds the commit in the folders of {@link gitFolders}: `HEAD`, or the branch that it names. */
export function checkoutCommit(folders: readonly string[]): string | undefined {
  const first = (path: string) => folders.map((folder) => textOf(`${folder}/${path}`)).find((text) => text);
  const head = first("HEAD");
  const [, branch] = /^ref: (.*)$/.exec(head ?? "") ?? [];
  if (branch === undefined) return head;
  const packed = first("packed-refs")?.split("\n").find((line) => line.endsWith(` ${branch}`));
  return first(branch) ?? packed?.split(" ")[0];
}

/** A file's trimmed text; undefined if it cannot be read. */
function textOf(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path).trim();
  } catch {
    return undefined;
  }
}
