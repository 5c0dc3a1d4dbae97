// Planted bug: production code with one mistake, inserted into the source text as it is loaded.
//   P1. A mistake replaces one piece of text in one file. If that text does not occur exactly once,
//       planting fails, so that a bug cannot silently disappear.
//   P2. Nothing else changes, except P3: all other code of the world is production code.
//   P3. The assertions of the ledger and the pipeline page are removed while a bug is planted. They
//       would stop some of the bugs, and the checkers must find every bug without them.

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

export interface PlantedBug {
  readonly name: string;
  /** The mistake, in one sentence. */
  readonly mistake: string;
  /** Path from the root of the project. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The checker that must report it; others may too. */
  readonly checker: string;
  /** Only worlds of this kind can show it. Default: all. */
  readonly world?: "tables" | "archive";
}

export const ROOT = new URL("../../", import.meta.url);

/** How often the text that a bug replaces occurs in its file; must be 1 (P1). */
export function occurrencesOf({ file, find }: PlantedBug): number {
  return readFileSync(new URL(file, ROOT), "utf8").split(find).length - 1;
}

/** Where the ledger and the pipeline assert what they promise (P3). */
const ASSERTIONS = [
  { file: "src/ledger/record-call.ts", find: "  assertStep(input, call, step);\n" },
  { file: "src/ingest/pipeline.ts", find: "    assertBefore(name, work);\n" },
  { file: "src/ingest/pipeline.ts", find: "  assertEnd(ended, work);\n" },
];

/** From this call on, the bug's file is loaded with the mistake in it. */
export function plant(bug: PlantedBug): { readonly planted: () => boolean } {
  const edits = [
    { ...bug, url: urlOf(bug.file) },
    ...ASSERTIONS.map(({ file, find }) => {
      return { file, find, name: bug.name, url: urlOf(file), replace: "" };
    }),
  ];
  let done = false;
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const wanted = edits.filter((edit) => edit.url === url);
      if (wanted.length === 0) return loaded;
      let source = textOf(loaded.source);
      for (const edit of wanted) source = replaceOnce(source, edit); // P1
      done ||= url === urlOf(bug.file);
      return { ...loaded, source };
    },
  });
  return { planted: () => done };
}

function urlOf(file: string): string {
  return pathToFileURL(fileURLToPath(new URL(file, ROOT))).href;
}

function textOf(source: unknown): string {
  return typeof source === "string" ? source : Buffer.from(source as Uint8Array).toString();
}

function replaceOnce(
  source: string,
  { name, file, find, replace }: Pick<PlantedBug, "name" | "file" | "find" | "replace">,
): string {
  const parts = source.split(find);
  if (parts.length === 2) return parts.join(replace);
  throw new Error(`${name}: its text occurs ${parts.length - 1} times in ${file}`);
}
