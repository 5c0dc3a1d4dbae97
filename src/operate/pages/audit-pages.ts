// Audit pages: the results of the latest audits of a pipeline.

import { findAudit, listAudits } from "../../audit/audit-log.ts";
import type { AuditSummary } from "../../ports/audit.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { type PageRequest, pageByPosition } from "./list-page.ts";

const LISTED_MAX = 500;

export async function readAudits(
  ledger: Pick<Ledger, "listNotes">,
  scope: LedgerScope,
  page: PageRequest,
) {
  const { items, next } = pageByPosition(await listAudits(ledger, scope, LISTED_MAX), page);
  return { audits: items.map(auditView), next };
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
