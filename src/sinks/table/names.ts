// Names: how the sink names and quotes tables.

import { sha256Hex } from "../../core/encoding/hash.ts";

/** Names are checked before (B1 of core/table-spec.ts); doubling quotes is the second safeguard. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** One row per key: who owns the visible row. */
export function ownersTable(table: string): string {
  return sideName(table, "");
}

/** One row per key and writer that is not the owner. */
export function othersTable(table: string): string {
  return sideName(table, "_others");
}

/** PostgreSQL truncates longer names. */
const SIDE_NAME_CHARS_MAX = 52;
const HASH_CHARS = 8;

function sideName(table: string, suffix: string): string {
  if (table.length <= SIDE_NAME_CHARS_MAX - 4) return `_tg_${table}${suffix}`;
  const hash = sha256Hex(table).slice(0, HASH_CHARS);
  return `_tg_${table.slice(0, SIDE_NAME_CHARS_MAX - HASH_CHARS - 5)}_${hash}${suffix}`;
}

/** Per table and object: the newest event that was applied, and the number of the writer. */
export const WRITERS_TABLE = "tidegate_sink_writers";

/** Finds the open keys of an owners table; empty between transactions. */
export function openIndex(table: string): string {
  return sideName(table, "_open");
}

/** Finds the keys of a writer. */
export function writerIndex(table: string, of: "owners" | "others"): string {
  return sideName(table, of === "owners" ? "_owner" : "_other");
}

/** The attempts that stage rows, and their tables. */
export const STAGES_TABLE = "tidegate_sink_stages";
