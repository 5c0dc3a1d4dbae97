// Describe history: the history of an event as lines of text, for `tidegate why`.

import { formatInstant } from "../../core/encoding/rfc3339.ts";
import { epochMs } from "../../core/units.ts";
import type { LogEntry } from "../../ports/record.ts";
import type { EventHistory } from "./event-history.ts";

/** Outcome first, then the log in order. */
export function describeHistory(history: EventHistory, what: string): string[] {
  const { pipeline, generation, key, object, attempts, fence, superseded } = history;
  const { seenAt, rememberedUntil } = history;
  const name = object === null ? (history.about[0] ?? what) : `s3://${object.bucket}/${object.key}`;
  return [
    `${name} in pipeline ${pipeline}, generation ${generation}`,
    row("key", key),
    row("outcome", outcomeOf(history)),
    row("deliveries", deliveriesOf(history)),
    row("attempts", `${attempts}, fence ${fence}`),
    ...inputOf(history),
    row("lane", laneOf(history)),
    ...(history.effects === null ? [] : [row("effects", effectsOf(history))]),
    ...quarantinedOf(history),
    ...(history.digest === null || superseded ? [] : [row("digest", history.digest)]),
    ...runOf(history),
    row("duplicates", duplicatesOf(history)),
    ...deadLetterOf(history),
    ...editedOf(history),
    row("first seen", `${time(seenAt)}, kept until ${time(rememberedUntil)}`),
    "",
    ...history.entries.map(entryLine),
  ];
}

const LABEL_WIDTH = 12;

function row(label: string, text: string): string {
  return `  ${label.padEnd(LABEL_WIDTH)}${text}`;
}

/** Where the event came from. */
function inputOf({ input, content }: EventHistory): string[] {
  const { object, source, dedupeKey, eventId, eventTime, sentAt, messageId, traceId } = input;
  const version = [
    object?.versionId == null ? null : `version ${object.versionId}`,
    object?.etag == null ? null : `ETag ${object.etag}`,
    object?.size == null ? null : `${object.size} bytes`,
    object?.sequencer == null ? null : `sequencer ${object.sequencer}`,
  ].filter((part) => part !== null);
  const optional = (label: string, text: string | null) =>
    text === null ? [] : [row(label, text)];
  return [
    row("input", version.length === 0 ? input.kind : `${input.kind}, ${version.join(", ")}`),
    ...contentOf(content),
    ...optional("source", source),
    ...optional("dedupe key", dedupeKey),
    ...optional("event id", eventId),
    row("event time", `${time(eventTime)}, partition ${JSON.stringify(input.partition)}`),
    row("message", `${messageId}, sent ${time(sentAt)}`),
    ...optional("trace", traceId),
  ];
}

/** The hash of the input's bytes; nothing if none could have been recorded. */
function contentOf({ hash, noHash }: EventHistory["content"]): string[] {
  if (noHash === "not-committed" || noHash === "not-recorded") return [];
  return [row("content", hash ?? `no hash: ${noHash}`)];
}

const LOCATIONS = {
  shadow: "not live: the replay was not promoted",
  promoted: "live, by the promotion of the replay",
} as const;

/** The run of the latest attempt: what code did it, with which configuration. */
function runOf({ input, run, location }: EventHistory): string[] {
  if (run === null) return [row("run", `${input.runId}, not recorded`)];
  const { id, kind, startedAt, endedAt, seenAt, codeDigest, configDigest } = run;
  const end = endedAt === null ? `no end, last seen ${time(seenAt)}` : `ended ${time(endedAt)}`;
  return [
    row("run", `${id}, ${kind}, started ${time(startedAt)}, ${end}`),
    ...(location === null || location === "live" ? [] : [row("rows", LOCATIONS[location])]),
    row("code", codeDigest),
    row("config", configDigest),
  ];
}

function outcomeOf(history: EventHistory): string {
  const { state, heldBy, superseded, dossier, tookMs, tooLate } = history;
  switch (state) {
    case "committed": {
      const took = tookMs === null ? "" : `, in ${tookMs} ms`;
      const skipped = "superseded: a newer event of the object was applied first";
      return superseded ? skipped : `committed${took}`;
    }
    case "parked":
      if (tooLate !== null && tooLate.to !== null) return `too late: sent to ${tooLate.to}`;
      if (tooLate !== null) return "too late: held until `tidegate late release`";
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
  const suppressed = duplicates?.count ?? 0;
  const what = suppressed === 1 ? "a duplicate" : "duplicates";
  return `${attempted} attempted, ${suppressed} suppressed as ${what}`;
}

function laneOf({ lane, watermark }: EventHistory): string {
  return watermark === null ? `${lane}` : `${lane}, at watermark ${time(watermark)}`;
}

function effectsOf({ effects }: EventHistory): string {
  const counts = Object.entries(effects ?? {}).map(([effect, count]) => `${effect} × ${count}`);
  return counts.length === 0 ? "none" : counts.join(", ");
}

function quarantinedOf({ quarantined }: EventHistory): string[] {
  if (quarantined === 0) return [];
  const rows = quarantined === 1 ? "1 row" : `${quarantined} rows`;
  return [row("quarantined", `${rows} at the commit; see tidegate quarantine list`)];
}

/** With the latest one's message: the record's own, or another with the same event. */
function duplicatesOf({ duplicates, input }: EventHistory): string {
  if (duplicates === null) return "none seen";
  const { count, lastAt, messageId, receiveCount } = duplicates;
  const own = messageId === input.messageId ? "its own message" : `message ${messageId}`;
  const which = messageId === null ? "" : `: ${own}, receive ${receiveCount ?? "unknown"}`;
  return `${count} suppressed, the last at ${time(lastAt)}${which}`;
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

function editedOf({ edited }: EventHistory): string[] {
  if (edited === null) return [];
  const { count, messageId, at } = edited;
  const copies = count === 1 ? "1 copy" : `${count} copies`;
  return [row("edited", `${copies} sent as new records, the last at ${time(at)}: ${messageId}`)];
}

function entryLine({ at, status, fence, owner, failure }: LogEntry): string {
  const who = owner === null ? "" : ` by ${owner}`;
  const why = failure === null ? "" : `: ${failure.errorClass}: ${failure.message}`;
  return `  ${time(at)}  ${status.padEnd(LABEL_WIDTH)}fence ${fence}${who}${why}`;
}

function time(at: number): string {
  return formatInstant(epochMs(at));
}
