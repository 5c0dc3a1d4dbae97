// Schema fence: fails a write if a newer release has upgraded the database beyond this one since it
// was opened (V3 of ledger/schema-version.ts).
//   F1. Every write evaluates the fence in its own statement or with its BEGIN: it costs no round
//       trip. PostgreSQL locks the table of the limits before the statement's snapshot, and keeps
//       the lock to the end. So an upgrade that holds that table has no write beside it, and a
//       write that waited for it sees the new limits.
//   F2. SQL has no statement that fails with a message. Text that is not a number does.

import { newerSchema, type SupportedSchema } from "../../../ledger/schema-version.ts";

const SIGN = "tidegate-fence";
const FENCED = new RegExp(`"${SIGN} (ledger|outbox) (\\d+) (\\d+)"`);

/** An expression that is null, or fails the statement. */
export function fenceSql({ part, version }: Pick<SupportedSchema, "part" | "version">): string {
  return `(SELECT CASE WHEN l.writers_from > ${version}
    THEN ('${SIGN} ${part} ' || s.version || ' ${version}')::bigint END
    FROM tidegate_schema_limits AS l JOIN tidegate_schema AS s ON s.part = l.part
    WHERE l.part = '${part}')`;
}

/** The error of a fenced write; null for any other error. */
export function fencedFault(error: unknown): Error | null {
  const [, part, stored, supported] =
    FENCED.exec(error instanceof Error ? error.message : "") ?? [];
  if (part !== "ledger" && part !== "outbox") return null;
  return newerSchema({ part, version: Number(supported) }, Number(stored));
}
