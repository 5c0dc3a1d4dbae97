// Bundled: the file to start for a source file, in tests that start it as a process.
//   D1. `npm test` starts bundles, which need half the processor time. CI starts the sources.
//   D2. Outside Vitest, and in projects without shared servers, it is the source.
//   D3. A test that patches modules of the process it starts uses the source: the bundle has other
//       copies of those modules.

import { join } from "node:path";
import { inject } from "vitest";
import { isFullSize } from "../full-size.ts";

const root = join(import.meta.dirname, "../../..");

/** What to start for a source file, which is given by its path from the root. */
export async function bundled(file: string): Promise<string> {
  const desk = isFullSize ? null : deskOfRun();
  if (desk === null) return join(root, file); // D1, D2
  const reply = await fetch(`${desk}?${new URLSearchParams({ file })}`);
  const answer = (await reply.json()) as { readonly path: string } | { readonly error: string };
  if ("error" in answer) throw new Error(`cannot bundle ${file}: ${answer.error}`);
  return answer.path;
}

function deskOfRun(): string | null {
  try {
    return inject("bundleDesk") ?? null;
  } catch {
    return null; // Not in a test.
  }
}
