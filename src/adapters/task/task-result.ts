// Task result: the effects that a task wrote, one JSON object per line.
//   T1. Every line is checked before anything of the result is applied: the commit is one write. A
//       line that is not an effect dead-letters the record, with the number of the line.
//   T2. Blank lines are ignored. The file may be of any length; lines are bounded.

import { asObject } from "../../core/events/problem.ts";
import { PermanentError } from "../../ingest/spec/handler-errors.ts";
import type { HandlerContext } from "../../ingest/spec/pipeline-spec.ts";

type EffectMethods = Pick<HandlerContext, "upsert" | "delete" | "emit" | "flush">;

/** Effects between two waits for the stage. */
const FLUSH_EVERY = 1_000;
const LINE_CHARS_MAX = 1_048_576;
const FORMS =
  '{"op":"upsert","table":…,"row":{…}}, {"op":"delete","table":…,"key":{…}} or ' +
  '{"op":"emit","value":…}';

/** The lines of a text. One that is longer than allowed is the last, and rejected (T2). */
export async function* splitLines(chunks: AsyncIterable<string>): AsyncIterable<string> {
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
    if (rest.length > LINE_CHARS_MAX) break;
  }
  if (rest !== "") yield rest;
}

/** Requests every effect of a result; throws PermanentError at the first wrong line. */
export async function applyResult(
  lines: AsyncIterable<string>,
  effects: EffectMethods,
  hasSink: boolean,
): Promise<number> {
  let number = 0;
  let applied = 0;
  for await (const line of lines) {
    number += 1;
    if (line.trim() === "") continue; // T2
    if (!hasSink) refuse(number, "is an effect, but the pipeline has no sink");
    if (line.length > LINE_CHARS_MAX) refuse(number, `has more than ${LINE_CHARS_MAX} characters`);
    applyLine(line, number, effects);
    applied += 1;
    if (applied % FLUSH_EVERY === 0) await effects.flush();
  }
  return applied;
}

function applyLine(line: string, number: number, effects: EffectMethods): void {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    refuse(number, `is not JSON; write ${FORMS}`);
  }
  const { op, table, row, key, ...more } = asObject(value as never) ?? {};
  const rowOf = asObject(row);
  const keyOf = asObject(key);
  if (op === "upsert" && typeof table === "string" && rowOf !== undefined) {
    effects.upsert(table, rowOf as never);
  } else if (op === "delete" && typeof table === "string" && keyOf !== undefined) {
    effects.delete(table, keyOf as never);
  } else if (op === "emit" && "value" in more) {
    effects.emit(more.value);
  } else {
    refuse(number, `is not an effect; write ${FORMS}`); // T1
  }
}

function refuse(line: number, problem: string): never {
  const message = `line ${line} of the task's result ${problem}`;
  throw new PermanentError(message, { class: "task-result" });
}
