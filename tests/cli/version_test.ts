import { assertEquals } from "@std/assert";
import { dirname, toFileUrl } from "@std/path";
import { VERSION } from "../../lib/base/version.ts";
import { checkoutCommit, gitFolders, splitEmbedded, versionText } from "../../lib/cli/version.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const OTHER = "fedcba9876543210fedcba9876543210fedcba98";

Deno.test("versionText() names the version, the commit and the engines", () => {
  assertEquals(
    versionText(COMMIT),
    `ping-llm ${VERSION} (commit 0123456789ab)\ndeno ${Deno.version.deno} (${Deno.build.target})\n` +
      `v8 ${Deno.version.v8}\nwebgpu wgpu, part of Deno`,
  );
});

Deno.test("the commit of a checkout is found for a packed or loose branch, a detached HEAD and a worktree", () => {
  const packed =
    `# pack-refs with: peeled fully-peeled sorted\n${OTHER} refs/heads/main2\n${COMMIT} refs/heads/main\n`;
  const cases: Record<string, Record<string, string>> = {
    "a branch": { ".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": `${COMMIT}\n` },
    "a packed branch": { ".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": packed },
    "a branch that moved after it was packed": {
      ".git/HEAD": "ref: refs/heads/main2\n",
      ".git/packed-refs": packed,
      ".git/refs/heads/main2": `${COMMIT}\n`,
    },
    "a detached HEAD": { ".git/HEAD": `${COMMIT}\n`, ".git/packed-refs": packed },
    "a worktree": {
      ".git": "gitdir: main tree/.git/worktrees/w\n",
      "main tree/.git/worktrees/w/HEAD": "ref: refs/heads/main\n",
      "main tree/.git/worktrees/w/commondir": "../..\n",
      "main tree/.git/HEAD": `${OTHER}\n`,
      "main tree/.git/refs/heads/main": `${COMMIT}\n`,
    },
  };
  for (const [name, files] of Object.entries(cases)) {
    using folder = new TemporaryFolder();
    for (const [path, text] of Object.entries(files)) {
      Deno.mkdirSync(dirname(folder.at(path)), { recursive: true });
      Deno.writeTextFileSync(folder.at(path), text);
    }
    assertEquals(checkoutCommit(gitFolders(toFileUrl(`${folder.path}/`))), COMMIT, name);
  }
  using folder = new TemporaryFolder();
  assertEquals(checkoutCommit(gitFolders(toFileUrl(`${folder.path}/`))), undefined, "no checkout");
  assertEquals(gitFolders(new URL("https://jsr.io/@ping-llm/ping-llm/0.1.0/")), []);
});

Deno.test("splitEmbedded() splits off only the words that compile embeds", () => {
  assertEquals(splitEmbedded([`--commit=${COMMIT}`, "train"]), { commit: COMMIT, words: ["train"] });
  for (const words of [[], ["train"], ["--commit=x"], ["train", `--commit=${COMMIT}`]]) {
    assertEquals(splitEmbedded(words), { words });
  }
});
