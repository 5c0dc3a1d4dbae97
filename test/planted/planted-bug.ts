// Planted bugs: production code with one mistake in it, made in its source text as it is loaded.
//   P1. A mistake is one place in one file, and its place is found by its text: text that is not
//       there exactly once is an error, so that a bug cannot rot into no bug.
//   P2. Nothing else is changed: all other code of the world is what ships.

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

export interface PlantedBug {
  readonly name: string;
  /** What is wrong, in one sentence. */
  readonly mistake: string;
  /** From the root of the project. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The checker that has to be among those that see it. */
  readonly checker: string;
}

export const ROOT = new URL("../../", import.meta.url);

/** How often the text that a bug replaces occurs in its file; P1 wants one. */
export function placesOf({ file, find }: PlantedBug): number {
  return readFileSync(new URL(file, ROOT), "utf8").split(find).length - 1;
}

/** From here on the bug's file is loaded with the mistake in it. */
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
        throw new Error(`${bug.name}: its place is ${parts.length - 1} times in ${bug.file}`); // P1
      }
      done = true;
      return { ...loaded, source: parts.join(bug.replace) };
    },
  });
  return { planted: () => done };
}
