// Describe history: the history of an event as lines of text, for `tidegate why`.

import type { LogEntry } from "../../ports/record.ts";
import type { EventHistory } from "./event-history.ts";

/** Outcome first, then the log in order. */
export function describeHistory(history: EventHistory, what: string): string[] {
  const { pipeline, generation, key, object, attempts, fence, seenAt, rememberedUntil } = history;
  const named = object === null ? what : `s3://${object.bucket}/${object.key}`;
  return [
    `${named} in pipeline ${pipeline}, generation ${generation}`,
    row("key", key),
    row("outcome", outcomeOf(history)),
    row("deliveries", deliveriesOf(history)),
    row("attempts", `${attempts}, fence ${fence}`),
    ...(history.lane === null ? [] : [row("lane", laneOf(history))]),
    ...(history.effects === null ? [] : [row("effects", effectsOf(history))]),
    row("duplicates", duplicatesOf(history)),
    ...deadLetterOf(history),
    row("first seen", `${time(seenAt)}, kept until ${time(rememberedUntil)}`),
    "",
    ...history.entries.map(entryLine),
  ];
}

const LABEL_WIDTH = 12;

function row(label: string, text: string): string {
  return `  ${label.padEnd(LABEL_WIDTH)}${text}`;
}

function outcomeOf({ state, heldBy, superseded, dossier, tookMs }: EventHistory): string {
  switch (state) {
    case "committed": {
      const took = tookMs === null ? "" : `, in ${tookMs} ms`;
      const skipped = "committed without effects: a newer event of the object was applied first";
      return superseded ? skipped : `committed${took}`;
    }
    case "parked":
      return `dead-lettered: ${dossier?.error_class ?? "unknown"}: ${dossier?.message ?? ""}`;
    case "claimed":
      return `in progress, claimed by ${heldBy?.owner} until ${time(heldBy?.until ?? 0)}`;
    case "failed":
      return "failed, will be retried when the queue redelivers it";
    case "released":
      return "returned to the queue, will be redelivered";
  }
}

/** Deliveries in the log; a duplicate that arrived during an attempt is not in it. */
function deliveriesOf({ entries, duplicates }: EventHistory): string {
  const attempted = entries.filter(({ status }) => status === "received").length;
  return `${attempted} attempted, ${duplicates?.count ?? 0} suppressed as duplicates`;
}

function laneOf({ lane, watermark }: EventHistory): string {
  return watermark === null ? `${lane}` : `${lane}, at watermark ${time(watermark)}`;
}

function effectsOf({ effects }: EventHistory): string {
  const counts = Object.entries(effects ?? {}).map(([effect, count]) => `${effect} × ${count}`);
  return counts.length === 0 ? "none" : counts.join(", ");
}

function duplicatesOf({ duplicates }: EventHistory): string {
  if (duplicates === null) return "none seen";
  return `${duplicates.count} suppressed, the last at ${time(duplicates.lastAt)}`;
}

function deadLetterOf({ state, dossier }: EventHistory): string[] {
  if (dossier === null) return [];
  const { dead_letter: deadLetter, first_failed_at, last_failed_at, fingerprint } = dossier;
  const suffix = state === "parked" ? "" : " (before it was redriven)";
  const where =
    deadLetter === null
      ? "still in its own queue"
      : `in ${deadLetter.queue} since ${time(deadLetter.sent_at)}, message ${deadLetter.message_id}`;
  return [
    row("dead letter", `${where}${suffix}`),
    row("failed", `first ${time(first_failed_at)}, last ${time(last_failed_at)}`),
    row("fingerprint", fingerprint),
  ];
}

function entryLine({ at, status, fence, owner, failure }: LogEntry): string {
  const who = owner === null ? "" : ` by ${owner}`;
  const why = failure === null ? "" : `: ${failure.errorClass}: ${failure.message}`;
  return `  ${time(at)}  ${status.padEnd(LABEL_WIDTH)}fence ${fence}${who}${why}`;
}

function time(at: number): string {
  return new Date(at).toISOString();
}
