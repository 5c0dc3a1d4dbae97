// Audit log: the results of the latest audits of a pipeline, in its ledger.
//   G1. A name starts with the time until the end of the calendar, so that the newest comes first
//       in the byte order of names.
//   G2. Only the latest LOG_MAX audits are kept; the ledger forgets them like records.

import { type EpochMs, epochMs } from "../core/units.ts";
import type { AuditSummary } from "../ports/audit.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";

const KIND = "audit";
/** The last instant of a Date. */
const LAST_MS = 8_640_000_000_000_000;
const DIGITS = 16;
const LOG_MAX = 500;
const PAGE_MAX = 1_000;

export async function saveAudit(
  ledger: Pick<Ledger, "addNotes" | "listNotes" | "removeNotes">,
  scope: LedgerScope,
  summary: AuditSummary,
): Promise<void> {
  const body = JSON.stringify(summary);
  const name = nameOf(summary.startedAt, summary.id);
  await ledger.addNotes(scope, [{ kind: KIND, name, at: summary.endedAt, count: 1, body }]);
  const notes = await ledger.listNotes(scope, KIND, { after: null, limit: PAGE_MAX });
  const obsolete = notes.slice(LOG_MAX).map((note) => note.name); // G2
  if (obsolete.length > 0) await ledger.removeNotes(scope, KIND, obsolete);
}

/** The latest audits of a pipeline, newest first; at most 500. */
export async function listAudits(
  ledger: Pick<Ledger, "listNotes">,
  scope: LedgerScope,
  limit: number,
): Promise<AuditSummary[]> {
  const page = { after: null, limit: Math.min(limit, LOG_MAX) };
  const notes = await ledger.listNotes(scope, KIND, page);
  return notes.map(({ body }) => JSON.parse(body) as AuditSummary);
}

/** The audit with that id; null if the ledger has forgotten it. */
export async function findAudit(
  ledger: Pick<Ledger, "listNotes">,
  scope: LedgerScope,
  id: string,
): Promise<AuditSummary | null> {
  const audits = await listAudits(ledger, scope, LOG_MAX);
  return audits.find((audit) => audit.id === id) ?? null;
}

/** G1 */
function nameOf(startedAt: EpochMs, id: string): string {
  return `${String(LAST_MS - epochMs(startedAt)).padStart(DIGITS, "0")}-${id}`;
}
