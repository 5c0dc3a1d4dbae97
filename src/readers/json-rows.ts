// JSON: one array of rows, or one row.
//   JS1. The document is parsed as a whole, so it has a limit of its own, and a message that says
//        which format has none.

import { Buffer } from "node:buffer";
import { parseStrictJson } from "../core/encoding/strict-json.ts";
import type { NumberedRow } from "../ports/rows.ts";
import { asRow, isArray } from "./json-row.ts";
import { describeBytes, type RowLimits } from "./row-limits.ts";
import { unreadable } from "./unreadable.ts";

export async function* jsonRows(
  text: AsyncIterable<Buffer>,
  name: string,
  limits: RowLimits,
): AsyncGenerator<readonly NumberedRow[]> {
  const document = await readWhole(text, name, limits);
  if (document.trim() === "") return;
  const parsed = parseStrictJson(document);
  if (parsed.kind === "invalid") throw invalidJson(name, document, parsed);
  const { value } = parsed;
  const values = isArray(value) ? value : [value];
  yield values.map((item, index) => {
    const line = index + 1;
    return { line, value: asRow(item, name, { row: line }) };
  });
}

async function readWhole(
  text: AsyncIterable<Buffer>,
  name: string,
  limits: RowLimits,
): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of text) {
    total += chunk.length;
    if (total > limits.jsonBytesMax) {
      const max = describeBytes(limits.jsonBytesMax);
      const reason = `JSON is parsed as a whole and may have ${max}; JSON Lines may have more`;
      throw unreadable(name, reason); // JS1
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function invalidJson(
  name: string,
  document: string,
  { reason, place, offset }: { reason: string; place: string; offset: number },
) {
  const line = document.slice(0, offset).split("\n").length;
  const where = place === "the top" ? "" : ` in ${place}`;
  // Many writers call their JSON Lines .json, so the likely reason is named.
  const lines = reason === "text continues after its value" && document.trimStart().startsWith("{");
  const advice = lines ? '; if it is JSON Lines, read it with the format "jsonl"' : "";
  return unreadable(name, `is no JSON: ${reason}${where}${advice}`, { line });
}
