// Dead-letter reads: the groups and items of the dead-letter index, as the console shows them.
//   D1. Only dossiers are shown, which were masked when they were written.

import { type Dossier, decodeDossier } from "../../ingest/dead-letters/dossier.ts";
import type {
  DeadLetterGroupPage,
  DeadLetterGroupView,
  DeadLetterPage,
  DeadLetterView,
} from "../../ports/console/console-record-views.ts";
import type { PageRequest } from "../../ports/console/console-source.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { DeadLetterIndex, IndexedGroup } from "./dead-letter-index.ts";

const HOUR_MS = 3_600_000;
const TREND_HOURS = 24;

export function deadLetterView(dossier: Dossier): DeadLetterView {
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
  { cursor, limit }: PageRequest,
): Promise<DeadLetterGroupPage> {
  const { at, groups, total, more } = await index.read();
  const from = positionIn(cursor);
  const page = groups.slice(from, from + limit);
  const views = await Promise.all(page.map((group) => groupView(ledger, scope, group, at)));
  const next = from + limit < groups.length ? String(from + limit) : null;
  return { at, groups: views.filter((view) => view !== null), total, more, next };
}

async function groupView(
  ledger: Ledger,
  scope: LedgerScope,
  group: IndexedGroup,
  now: number,
): Promise<DeadLetterGroupView | null> {
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

function trendOf({ items }: IndexedGroup, now: number): DeadLetterGroupView["trend"] {
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
  group: string,
  { cursor, limit }: PageRequest,
): Promise<DeadLetterPage | null> {
  const { groups } = await index.read();
  const items = groups.find(({ id }) => id === group)?.items;
  if (items === undefined) return null;
  const from = positionIn(cursor);
  const notes = await Promise.all(
    items.slice(from, from + limit).map(({ key }) => ledger.findNote(scope, "dossier", key)),
  );
  const shown = notes.filter((note) => note !== undefined);
  return {
    items: shown.map(({ body }) => deadLetterView(decodeDossier(body))),
    next: from + limit < items.length ? String(from + limit) : null,
  };
}

function positionIn(cursor: string | null): number {
  return cursor !== null && /^\d{1,9}$/.test(cursor) ? Number(cursor) : 0;
}
