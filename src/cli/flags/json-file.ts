// JSON file: the strict JSON of a file that a flag names.

import { readFileSync } from "node:fs";
import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { parseStrictJson } from "../../core/encoding/strict-json.ts";
import { UsageError } from "../command.ts";

/** The value in a file. An object with a duplicate name is rejected: one would be lost. */
export function readJsonFile(path: string, flag: string): JsonValue {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    throw new UsageError(`--${flag}: cannot read ${path} (${code})`);
  }
  const parsed = parseStrictJson(text);
  if (parsed.kind === "value") return parsed.value;
  const { reason, place: pointer, offset } = parsed;
  const line = text.slice(0, offset).split("\n").length;
  const position = `line ${line}, at ${pointer}`;
  throw new UsageError(`--${flag}: ${path} is not valid JSON: ${reason} (${position})`);
}
