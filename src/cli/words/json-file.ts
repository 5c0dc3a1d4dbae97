// JSON files that a flag names: read whole and strictly, and every trouble with one is a sentence.

import { readFileSync } from "node:fs";
import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { parseStrictJson } from "../../core/encoding/strict-json.ts";
import { UsageError } from "../command.ts";

/** The value in a file. A name used twice in one object is refused: one would be lost. */
export function readJsonFile(path: string, flag: string): JsonValue {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    throw new UsageError(`--${flag}: the file ${path} cannot be read (${code}).`);
  }
  const parsed = parseStrictJson(text);
  if (parsed.kind === "value") return parsed.value;
  const { reason, place, offset } = parsed;
  const line = text.slice(0, offset).split("\n").length;
  throw new UsageError(`--${flag}: ${path} is no JSON: ${reason} (line ${line}, at ${place}).`);
}
