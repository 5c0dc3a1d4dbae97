// Page masks: what the masks of a console leave of each page of a ledger (view-mask.ts).
//   P1. An audit stores the keys of objects as they are. So masks that hide keys hide them here,
//       before an answer leaves.

import type { AuditSummary } from "../../ports/audit.ts";
import type { LedgerPages } from "../pages/ledger-pages.ts";
import type { MessageMask } from "./message-mask.ts";

export type PageAnswers = {
  readonly [Method in keyof LedgerPages]: Awaited<ReturnType<LedgerPages[Method]>>;
};

export type PageMasks = {
  readonly [Method in keyof LedgerPages]?: (
    answer: NonNullable<PageAnswers[Method]>,
  ) => PageAnswers[Method];
};

/** A page without an entry has nothing to mask. */
export function createPageMasks(mask: MessageMask): PageMasks {
  const { views } = mask;
  const audit = (each: AuditSummary) => maskAudit(each, mask);
  return {
    records: (page) => ({ ...page, records: page.records.map(views.summary) }),
    record: views.record,
    deadLetterGroups: (page) => ({ ...page, groups: page.groups.map(views.group) }),
    deadLetters: (page) => ({ ...page, items: page.items.map(views.deadLetter) }),
    time: views.time,
    replays: (page) => ({ ...page, replays: page.replays.map(views.replay) }),
    replay: views.replay,
    audits: (page) => ({ ...page, audits: page.audits.map(audit) }),
    audit,
  };
}

/** P1 */
export function maskAudit(audit: AuditSummary, mask: MessageMask): AuditSummary {
  const { bucket, prefix, exceptions } = audit;
  return {
    ...audit,
    prefix: prefix === "" ? "" : mask.keyOf(bucket, prefix),
    exceptions: exceptions.map((each) => ({ ...each, key: mask.keyOf(bucket, each.key) })),
  };
}
