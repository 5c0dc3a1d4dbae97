// Describe life: one event's life as lines of text, for `tidegate why`.

import type { LogEntry } from "../../ports/record.ts";
import type { EventHistory } from "./event-history.ts";

/** From the first sight to the outcome, in the order in which it happened. */
export function describeHistory(life: EventHistory, what: string): string[] {
  const { pipeline, generation, key, object, attempts, fence, seenAt, rememberedUntil } = life;
  const named = object === null ? what : `s3://${object.bucket}/${object.key}`;
  return [
    `${named} in pipeline ${pipeline}, generation ${generation}`,
    row("key", key),
    row("outcome", outcomeOf(life)),
    row("deliveries", deliveriesOf(life)),
    row("attempts", `${attempts}, fence ${fence}`),
    ...(life.lane === null ? [] : [row("lane", laneOf(life))]),
    ...(life.effects === null ? [] : [row("effects", effectsOf(life))]),
    row("duplicates", duplicatesOf(life)),
    ...deadLetterOf(life),
    row("first seen", `${time(seenAt)}, remembered until ${time(rememberedUntil)}`),
    "",
    ...life.entries.map(entryLine),
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
      const left = "committed without effects: a newer event of the object was applied before";
      return superseded ? left : `committed${took}`;
    }
    case "parked":
      return `given up on: ${dossier?.error_class ?? "unknown"}: ${dossier?.message ?? ""}`;
    case "claimed":
      return `being worked on by ${heldBy?.owner} until ${time(heldBy?.until ?? 0)}`;
    case "failed":
      return "failed, and will be tried again when the queue delivers it";
    case "released":
      return "waiting to be tried when the queue delivers it";
  }
}

/** Those that the log still has; a copy that came while another was worked on is not in it. */
function deliveriesOf({ entries, duplicates }: EventHistory): string {
  const begun = entries.filter(({ status }) => status === "received").length;
  return `${begun} worked on, ${duplicates?.count ?? 0} known as duplicates`;
}

function laneOf({ lane, watermark }: EventHistory): string {
  return watermark === null ? `${lane}` : `${lane}, at watermark ${time(watermark)}`;
}

function effectsOf({ effects }: EventHistory): string {
  const told = Object.entries(effects ?? {}).map(([effect, count]) => `${effect} × ${count}`);
  return told.length === 0 ? "none" : told.join(", ");
}

function duplicatesOf({ duplicates }: EventHistory): string {
  if (duplicates === null) return "none seen";
  return `${duplicates.count} suppressed, the last at ${time(duplicates.lastAt)}`;
}

function deadLetterOf({ state, dossier }: EventHistory): string[] {
  if (dossier === null) return [];
  const { dead_letter: letter, first_failed_at, last_failed_at, fingerprint } = dossier;
  const former = state === "parked" ? "" : " (before it was redriven)";
  const where =
    letter === null
      ? "waits in its own queue"
      : `in ${letter.queue} since ${time(letter.sent_at)}, message ${letter.message_id}`;
  return [
    row("dead letter", `${where}${former}`),
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
