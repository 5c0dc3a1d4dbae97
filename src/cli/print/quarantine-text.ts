// Quarantine text: quarantined rows as lines of text and as JSON.
//   T1. Rows are shown without the values that the pipeline masks.

import { createMask } from "../../core/encoding/mask.ts";
import type { QuarantinedSet, RedrivenSet } from "../../operate/quarantine.ts";

const ROWS_SHOWN_MAX = 5;

export function setLines(set: QuarantinedSet, all: boolean): string[] {
  const { rows, facts } = set;
  const shown = all ? rows : rows.slice(0, ROWS_SHOWN_MAX);
  const mask = createMask(facts.mask);
  const lines = shown.map((row) => `  ${positionOf(row)}: ${row.reason}`);
  const values = all ? shown.map(({ row }) => `    ${JSON.stringify(mask.value(row))}`) : []; // T1
  const more = rows.length - shown.length;
  return [
    `${headOf(set)}, ${stateOf(set)}, since ${new Date(set.at).toISOString()}`,
    ...lines.flatMap((line, at) => [line, ...values.slice(at, at + 1)]),
    ...(more > 0 ? [`  and ${more} more; --rows shows all`] : []),
  ];
}

/** One JSON line per row. */
export function setJson({ facts, ref, rows, at, state }: QuarantinedSet): string[] {
  const { bucket, key } = facts.shown;
  const mask = createMask(facts.mask);
  return rows.map(({ line, unit, reason, row }) =>
    JSON.stringify({
      bucket,
      key,
      record_key: ref.of,
      set: ref.set,
      tries: ref.tries,
      at,
      state,
      line,
      unit,
      reason,
      row: mask.value(row), // T1
    }),
  );
}

export function redrivenLine(event: RedrivenSet): string {
  const head = headOf(event.set);
  switch (event.kind) {
    case "sent":
      return `sent           ${head}`;
    case "pending":
      return `pending        ${head}: no consumer has finished it yet`;
    case "outdated":
      return `outdated       ${head}: the object was replaced since`;
    case "dead-lettered":
      return `dead-lettered  ${head}; see tidegate dlq list`;
    case "committed":
      return event.again === 0
        ? `committed      ${head}`
        : `quarantined    ${head}, of which ${event.again} again`;
  }
}

export function redrivenJson(event: RedrivenSet): string {
  const { kind, set } = event;
  const again = kind === "committed" ? { again: event.again } : {};
  const { ref, rows } = set;
  return JSON.stringify({
    event: kind,
    record_key: ref.of,
    set: ref.set,
    rows: rows.length,
    ...again,
  });
}

export function headOf({ facts, rows }: QuarantinedSet): string {
  const { bucket, key } = facts.shown;
  return `s3://${bucket}/${key}: ${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
}

function stateOf({ state, ref }: QuarantinedSet): string {
  return ref.tries === 1 ? state : `${state} after ${ref.tries} tries`;
}

function positionOf({ unit, line }: QuarantinedSet["rows"][number]): string {
  return `${unit} ${line}`;
}
