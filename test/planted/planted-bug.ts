// Planted bug: production code with one mistake, inserted into the source text as it is loaded.
//   P1. A mistake replaces one piece of text in one file. If that text does not occur exactly once,
//       planting fails, so that a bug cannot silently disappear.
//   P2. Nothing else changes: all other code of the world is production code.

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
}

export const ROOT = new URL("../../", import.meta.url);

/** How often the text that a bug replaces occurs in its file; must be 1 (P1). */
export function occurrencesOf({ file, find }: PlantedBug): number {
  return readFileSync(new URL(file, ROOT), "utf8").split(find).length - 1;
}

/** From this call on, the bug's file is loaded with the mistake in it. */
export function plant(bug: PlantedBug): { readonly planted: () => boolean } {
  const target = pathToFileURL(fileURLToPath(new URL(bug.file, ROOT))).href;
  let done = false;
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (url !== target) return loaded;
      const source = String(
        typeof loaded.source === "string"
          ? loaded.source
          : Buffer.from(loaded.source as Uint8Array),
      );
      const parts = source.split(bug.find);
      if (parts.length !== 2) {
        const count = parts.length - 1;
        throw new Error(`${bug.name}: its text occurs ${count} times in ${bug.file}`); // P1
      }
      done = true;
      return { ...loaded, source: parts.join(bug.replace) };
    },
  });
  return { planted: () => done };
}
