// Record text: records of a ledger, and those with duplicates, as lines of text or JSON.

import type { DuplicatedRecord, ProcessedRecord } from "../../operate/records.ts";

const HEADINGS = ["EVENT TIME", "CHANGED", "OUTCOME", "ROWS", "ATTEMPTS", "LANE", "NAME"];

/** A table; empty without records. */
export function recordLines(records: readonly ProcessedRecord[]): string[] {
  if (records.length === 0) return [];
  const rows = [HEADINGS, ...records.map(columnsOf)];
  const widths = HEADINGS.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const padded = (row: readonly string[]) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0));
  return rows.map((row) => padded(row).join("  ").trimEnd());
}

function columnsOf(record: ProcessedRecord): string[] {
  const { input, changedAt, outcome, rows, attempts, name } = record;
  return [
    new Date(input.eventTime).toISOString(),
    new Date(changedAt).toISOString(),
    outcome,
    rows === null ? "-" : String(rows),
    String(attempts),
    input.lane.lane,
    name,
  ];
}

export function recordJson({ name: _, ...record }: ProcessedRecord): string {
  return JSON.stringify(record);
}

export function duplicateLines(record: DuplicatedRecord): string[] {
  const { duplicates, lastAt, name, messageId, sameMessage, receiveCount } = record;
  const which =
    sameMessage === null
      ? "of an unknown message"
      : sameMessage
        ? `its own message, receive ${receiveCount}`
        : `another message, ${messageId}`;
  const time = new Date(lastAt).toISOString();
  return [`${String(duplicates).padStart(6)}  ${name}`, `        the last at ${time}: ${which}`];
}
