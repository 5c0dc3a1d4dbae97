// Audit reads: the results of the latest audits of a pipeline, as the console shows them.
//   A1. An audit stores the keys of objects as they are. So a console whose masks hide keys masks
//       them here, before an answer leaves.

import { findAudit, listAudits } from "../../audit/audit-log.ts";
import type { AuditSummary } from "../../ports/audit.ts";
import type { AuditPageView } from "../../ports/console/console-control-views.ts";
import type { PageRequest } from "../../ports/console/console-source.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { MessageMask } from "./message-mask.ts";

export async function readAudits(
  ledger: Pick<Ledger, "listNotes">,
  scope: LedgerScope,
  { cursor, limit }: PageRequest,
): Promise<AuditPageView> {
  const from = cursor !== null && /^\d{1,9}$/.test(cursor) ? Number(cursor) : 0;
  const audits = await listAudits(ledger, scope, from + limit + 1);
  const next = audits.length > from + limit ? String(from + limit) : null;
  return { audits: audits.slice(from, from + limit).map(auditView), next };
}

export async function readAudit(
  ledger: Pick<Ledger, "listNotes">,
  scope: LedgerScope,
  id: string,
): Promise<AuditSummary | null> {
  const audit = await findAudit(ledger, scope, id);
  return audit === null ? null : auditView(audit);
}

/** Only the fields that the API has, whatever else a later version stores. */
function auditView(audit: AuditSummary): AuditSummary {
  const { id, startedAt, endedAt, bucket, prefix, from, to, verdict } = audit;
  const { counts, quarantined, digest, exceptions, sinkChecked } = audit;
  const window = { startedAt, endedAt, bucket, prefix, from, to };
  return { id, ...window, verdict, counts, quarantined, digest, exceptions, sinkChecked };
}

/** A1 */
export function maskAudit(audit: AuditSummary, mask: MessageMask): AuditSummary {
  const { bucket, prefix, exceptions } = audit;
  return {
    ...audit,
    prefix: prefix === "" ? "" : mask.keyOf(bucket, prefix),
    exceptions: exceptions.map((each) => ({ ...each, key: mask.keyOf(bucket, each.key) })),
  };
}
