// Dead-letter pages: the groups and items of the dead-letter index.
//   D1. Only dossiers are shown, which were masked when they were written.

import { type Dossier, decodeDossier } from "../../ingest/dead-letters/dossier.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { DeadLetterIndex, IndexedGroup } from "./dead-letter-index.ts";
import { type PageRequest, pageByPosition } from "./list-page.ts";

const HOUR_MS = 3_600_000;
const TREND_HOURS = 24;

export type DeadLetterView = ReturnType<typeof deadLetterView>;
export type DeadLetterGroupView = NonNullable<Awaited<ReturnType<typeof groupView>>>;

export function deadLetterView(dossier: Dossier) {
  const { object, business_key: businessKey = null, dead_letter: deadLetter } = dossier;
  const url = object === null ? null : `s3://${object.bucket}/${object.key}`;
  return {
    key: dossier.record_key,
    pipeline: dossier.pipeline,
    generation: dossier.generation,
    name: url ?? businessKey ?? dossier.record_key,
    queue: dossier.queue,
    messageId: dossier.message_id,
    groupId: dossier.group_id,
    object,
    businessKey,
    errorClass: dossier.error_class,
    fingerprint: dossier.fingerprint,
    message: dossier.message,
    stack: dossier.stack,
    attempts: dossier.attempts,
    receiveCount: dossier.receive_count,
    eventTime: dossier.event_time,
    firstFailedAt: dossier.first_failed_at,
    lastFailedAt: dossier.last_failed_at,
    tookMs: dossier.took_ms,
    traceId: dossier.trace_id,
    payload: dossier.payload,
    deadLetterQueue: deadLetter?.queue ?? null,
  };
}

export async function readGroups(
  ledger: Ledger,
  scope: LedgerScope,
  index: DeadLetterIndex,
  page: PageRequest,
) {
  const { at, groups, total, more } = await index.read();
  const { items, next } = pageByPosition(groups, page);
  const views = await Promise.all(items.map((group) => groupView(ledger, scope, group, at)));
  return { at, groups: views.filter((view) => view !== null), total, more, next };
}

async function groupView(ledger: Ledger, scope: LedgerScope, group: IndexedGroup, now: number) {
  const { id, errorClass, fingerprint, message, firstFailedAt, items } = group;
  const [newest] = items;
  if (newest === undefined) return null;
  const note = await ledger.findNote(scope, "dossier", newest.key);
  if (note === undefined) return null; // It was dropped since it was counted.
  return {
    id,
    errorClass,
    fingerprint,
    message,
    count: items.length,
    firstFailedAt,
    lastFailedAt: newest.failedAt,
    trend: trendOf(group, now),
    sample: deadLetterView(decodeDossier(note.body)),
  };
}

function trendOf({ items }: IndexedGroup, now: number) {
  const end = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS;
  const from = end - TREND_HOURS * HOUR_MS;
  const counts = Array.from({ length: TREND_HOURS }, () => 0);
  for (const { failedAt } of items) {
    const hour = Math.floor((failedAt - from) / HOUR_MS);
    if (hour >= 0 && hour < TREND_HOURS) counts[hour] = (counts[hour] ?? 0) + 1;
  }
  return { from, stepMs: HOUR_MS, counts };
}

export async function readItems(
  ledger: Ledger,
  scope: LedgerScope,
  index: DeadLetterIndex,
  id: string,
  page: PageRequest,
) {
  const { groups } = await index.read();
  const group = groups.find((each) => each.id === id);
  if (group === undefined) return null;
  const { items, next } = pageByPosition(group.items, page);
  const notes = await Promise.all(items.map(({ key }) => ledger.findNote(scope, "dossier", key)));
  const shown = notes.filter((note) => note !== undefined);
  return { items: shown.map(({ body }) => deadLetterView(decodeDossier(body))), next };
}
