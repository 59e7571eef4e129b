/**
 * Makes scripts that complete the program's command line in a shell, from the declarations of its commands.
 * Each script is a template with two tables: what can follow an option, and what can follow a command.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import BASH from "./completion.bash" with { type: "text" };
import FISH from "./completion.fish" with { type: "text" };
import ZSH from "./completion.zsh" with { type: "text" };
import { shortened } from "../../base/errors.ts";
import { type Command, type Group, leavesOf } from "../command.ts";
import { kebab, type Options } from "../options.ts";
import * as uses from "../path_uses.ts";

export type Shell = "bash" | "zsh" | "fish";

type Word = readonly [name: string, help: string];

/** What can be typed at a position. */
interface Candidates {
  words: readonly Word[];
  /** Whether paths are candidates too, or only the options of the command. */
  kind: "" | "files" | "folders" | "options";
}

interface ValuesOfOption extends Candidates {
  takes: "one" | "many";
}

interface WordsOfCommand extends Candidates {
  options: readonly Word[];
}

interface Notation {
  template: string;
  quote(text: string): string;
  word(word: Word): string;
  list(name: string, words: readonly string[]): string;
  text(name: string, text: string): string;
  /** A pattern for words that equal this text, or end with it. */
  pattern(text: string, isEnd?: boolean): string;
  row(patterns: readonly string[], commands: readonly string[]): string;
  groups(patterns: readonly string[]): string;
}

const posixQuote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const posix = {
  quote: posixQuote,
  text: (name: string, text: string) => `${name}=${text}`,
  pattern: (text: string, isEnd = false) => `${isEnd ? "*" : ""}${posixQuote(text)}`,
  row: (patterns: readonly string[], commands: readonly string[]) =>
    `    ${patterns.join(" | ")}) ${commands.join(" ")} ;;`,
  groups: (patterns: readonly string[]) => patterns.join(" | "),
};

const NOTATIONS: Record<Shell, Notation> = {
  bash: {
    ...posix,
    template: BASH,
    word: ([name]) => name,
    list: (name, words) => `${name}=${posixQuote(words.join(" "))}`,
  },
  zsh: {
    ...posix,
    template: ZSH,
    word: ([name, help]) => posixQuote(help ? `${name}:${help}` : name),
    list: (name, words) => `${name}=(${words.join(" ")})`,
  },
  fish: {
    template: FISH,
    quote: (text) => `'${text.replace(/[\\']/g, "\\$&")}'`,
    word([name, help]) {
      return this.quote(help ? `${name}\t${help}` : name);
    },
    list: (name, words) => `set ${[name, ...words].join(" ")}`,
    text: (name, text) => `set ${name} ${text}`,
    pattern(text, isEnd = false) {
      return this.quote(`${isEnd ? "*" : ""}${text}`);
    },
    row: (patterns, commands) =>
      [`        case ${patterns.join(" ")}`, ...commands.map((each) => `            ${each}`)].join("\n"),
    groups: (patterns) => patterns.join(" "),
  },
};

/** @param presets Names that configuration options accept in addition to files. */
export function completionScript(
  shell: Shell,
  commands: Record<string, Command | Group>,
  presets: readonly string[],
): string {
  const notation = NOTATIONS[shell];
  const groups = Object.values(commands).filter((each) => "kinds" in each).map(({ name }) => name);
  const tables: Record<string, string> = {
    GROUPS: notation.groups(["", ...groups].map((name) => notation.quote(`:${name}`))),
    OPTIONS: optionRows(notation, leavesOf(commands), presets).join("\n"),
    COMMANDS: commandRows(notation, commands).join("\n"),
  };
  return notation.template.replace(/@([A-Z]+)@/g, (_, name: string) => tables[name]).trimEnd();
}

/** What can follow each option with values. Commands whose option takes the same values share a row. */
function optionRows(notation: Notation, commands: readonly Command[], presets: readonly string[]): string[] {
  const found = new Map<string, { name: string; commands: string[] }[]>();
  const numOf = new Map<string, number>();
  for (const { name: command, options } of commands) {
    for (const [key, option] of Object.entries(options)) {
      if (option.arity === "switch") continue;
      const name = kebab(key);
      const takes = setters(notation, valuesOf(option, presets)).join("\n");
      const rows = getOrMake(found, takes, () => []);
      const row = rows.find((each) => each.name === name);
      if (row) row.commands.push(command);
      else rows.push({ name, commands: [command] });
      numOf.set(name, (numOf.get(name) ?? 0) + 1);
    }
  }
  return [...found].map(([takes, rows]) => {
    const patterns = rows.flatMap(({ name, commands }) =>
      commands.length === numOf.get(name)
        ? [notation.pattern(` --${name}`, true)]
        : commands.map((command) => notation.pattern(`${command} --${name}`))
    );
    return notation.row(patterns, takes.split("\n"));
  });
}

/** What can follow each command, each group and the program's name. */
function commandRows(notation: Notation, commands: Record<string, Command | Group>): string[] {
  const ofList = (list: Record<string, Command | Group>, options: Word[]): WordsOfCommand => ({
    words: Object.entries(list).map(([name, { summary }]) => [name, beginningOf(summary)] as const),
    kind: "",
    options: [["--help", "print a help text"], ...options],
  });
  const rows: [string, WordsOfCommand][] = [
    [
      "",
      ofList(commands, [
        ["--version", "print the version, the commit and the engines"],
        ["--licenses", "print the licences of all packages"],
      ]),
    ],
    ...Object.values(commands).flatMap((each): [string, WordsOfCommand][] =>
      "kinds" in each ? [[each.name, ofList(each.kinds, [])]] : []
    ),
    ...leavesOf(commands).map((command): [string, WordsOfCommand] => [command.name, wordsOf(command)]),
  ];
  return rows.map(([name, words]) => notation.row([notation.pattern(name)], setters(notation, words)));
}

function wordsOf({ positionals, options }: Command): WordsOfCommand {
  const words = (positionals?.choices ?? []).map((name): Word => [name, ""]);
  const kind = positionals?.use ? "files" : words.length > 0 ? "" : "options";
  return { words, kind, options: wordsOfOptions(options) };
}

function wordsOfOptions(options: Options): Word[] {
  return Object.entries(options).map(([name, { help }]) => [`--${kebab(name)}`, beginningOf(help)]);
}

function valuesOf(option: Options[string], presets: readonly string[]): ValuesOfOption {
  const { arity, use, value, choices = use && value === uses.config.value ? presets : [] } = option;
  return {
    takes: arity === "many" ? "many" : "one",
    words: choices.map((name) => [name, ""]),
    kind: use === undefined ? "" : use.value === "DIR" ? "folders" : "files",
  };
}

function setters(notation: Notation, row: ValuesOfOption | WordsOfCommand): string[] {
  const lists = [["found", row.words], ["options", "options" in row ? row.options : []]] as const;
  return [
    ...("takes" in row ? [notation.text("takes", row.takes)] : []),
    ...(row.kind ? [notation.text("kind", row.kind)] : []),
    ...lists.filter(([, words]) => words.length > 0).map(([name, words]) =>
      notation.list(name, words.map((word) => notation.word(word)))
    ),
  ];
}

/** The first line of a help text, shortened to fit beside a word. */
function beginningOf(help: string): string {
  return shortened(help.split("\n")[0], 70);
}
