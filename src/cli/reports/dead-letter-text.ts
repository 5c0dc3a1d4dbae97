// Dead-letter text: dead letters as lines for people and as JSON for programs.
//   T1. Nothing is printed that was not masked when its dossier was written: bodies of messages are
//       never shown, only dossiers.

import type { DeadLetter } from "../../ingest/dead-letters/dead-letter-list.ts";
import type { Dossier } from "../../ingest/dead-letters/dossier.ts";
import type { DropEvent } from "../../ingest/dead-letters/drop-dead-letters.ts";
import type {
  RedriveEvent,
  RedriveItem,
  RedriveSummary,
} from "../../ingest/dead-letters/redrive.ts";
import {
  type DeadLetterGroup,
  groupByFingerprint,
} from "../../ingest/policy/dead-letter-filter.ts";

const LABEL_WIDTH = 13;
const MESSAGE_CHARS = 100;

export function deadLetterJson(letter: DeadLetter): string {
  const { scope, key, errorClass, fingerprint, message, failedAt, state, copies, dossier } = letter;
  return JSON.stringify({
    ...scope,
    key,
    state,
    class: errorClass,
    fingerprint,
    message,
    objects: letter.objects,
    failed_at: time(failedAt),
    copies,
    dossier,
  });
}

export function deadLetterLines(letter: DeadLetter): string[] {
  const { scope, key, errorClass, fingerprint, failedAt, state, copies, objects } = letter;
  const where = copies === null ? "" : `, ${copies} in the queue`;
  return [
    `${time(failedAt)}  ${errorClass}  ${fingerprint}  ${objects[0] ?? key}`,
    `  ${scope.pipeline}: ${stateText(state)}${where}: ${shortened(letter.message)}`,
    ...(objects.length > 0 ? [`  ${key}`] : []),
  ];
}

/** One line, whatever is in it. */
function shortened(message: string): string {
  const line = message.replace(/\s+/g, " ");
  return line.length <= MESSAGE_CHARS ? line : `${line.slice(0, MESSAGE_CHARS - 1)}…`;
}

function stateText(state: DeadLetter["state"]): string {
  if (state === "parked") return "given up on";
  if (state === "unknown") return "not in the ledger";
  return state === "committed" ? "committed" : "on its way";
}

export function groupsOf(letters: readonly DeadLetter[]): DeadLetterGroup[] {
  return groupByFingerprint(letters);
}

export function groupJson(group: DeadLetterGroup): string {
  const { fingerprint, errorClass, count, oldestAt, newestAt, message } = group;
  const at = { oldest: time(oldestAt), newest: time(newestAt) };
  return JSON.stringify({ fingerprint, class: errorClass, count, ...at, message });
}

export function groupLines(group: DeadLetterGroup): string[] {
  const { fingerprint, errorClass, count, oldestAt, newestAt, message } = group;
  return [
    `${String(count).padStart(6)}  ${errorClass}  ${fingerprint}  ${shortened(message)}`,
    `        from ${time(oldestAt)} to ${time(newestAt)}`,
  ];
}

export function dossierLines(dossier: Dossier, state: DeadLetter["state"]): string[] {
  const { object, stack, dead_letter: letter } = dossier;
  const title = object === null ? dossier.record_key : `s3://${object.bucket}/${object.key}`;
  return [
    `${title} in pipeline ${dossier.pipeline}, generation ${dossier.generation}`,
    row("state", stateText(state)),
    row("key", dossier.record_key),
    row("event key", dossier.idempotency_key),
    row("class", dossier.error_class),
    row("fingerprint", dossier.fingerprint),
    row("message", dossier.message),
    row("attempts", `${dossier.attempts}, the last took ${dossier.took_ms} ms`),
    row("failed", `first ${time(dossier.first_failed_at)}, last ${time(dossier.last_failed_at)}`),
    row("queue", `${dossier.queue}, received ${dossier.receive_count} times`),
    row(
      "dead letter",
      letter === null
        ? "none: the message waits in its own queue"
        : `${letter.queue}, message ${letter.message_id}, since ${time(letter.sent_at)}`,
    ),
    row("run", dossier.run_id),
    ...(dossier.trace_id === null ? [] : [row("trace", dossier.trace_id)]),
    "",
    ...(stack === null ? [] : [...stack.split("\n").map((line) => `  ${line}`), ""]),
    ...JSON.stringify(dossier.payload, null, 2)
      .split("\n")
      .map((line) => `  ${line}`),
  ];
}

function row(label: string, text: string): string {
  return `  ${label.padEnd(LABEL_WIDTH)}${text}`;
}

export function eventJson({ item, ...event }: RedriveEvent | DropEvent): string {
  const { kind, ...more } = event;
  const { errorClass, failedAt, ...rest } = item;
  return JSON.stringify({ event: kind, ...rest, class: errorClass, failedAt, ...more });
}

export function eventLine(event: RedriveEvent | DropEvent): string {
  const name = nameOf(event.item);
  switch (event.kind) {
    case "planned":
      return `would go: ${name}`;
    case "sent":
      return `sent back: ${name}`;
    case "committed-before":
      return `was committed meanwhile, dead letter removed: ${name}`;
    case "reopened":
      return `reopened in its own queue, delivered by ${time(event.deliveredBy)}: ${name}`;
    case "on-its-way":
      return `already on its way: ${name}`;
    case "missing":
      return `not in the dead-letter queue (expired, or another reader has it): ${name}`;
    case "refused":
      return `refused (${event.reason}): ${name}`;
    case "ended":
      return `${event.end.replace("-", " ")}: ${name}`;
    case "dropped":
      return `dropped: ${name}`;
    case "let-go":
      return `dropped; its own queue lets it go at the next delivery: ${name}`;
    case "kept":
      return `kept, as ${event.reason}: ${name}`;
  }
}

function nameOf({ key, object, errorClass }: RedriveItem): string {
  return `${object ?? key} (${errorClass})`;
}

/** A run in one sentence. */
export function redriveSummaryLine(summary: RedriveSummary): string {
  const { planned, sent, reopened, committed, overtaken, failedAgain, waiting } = summary;
  if (planned > 0) return `${planned} would be redriven; nothing was changed.`;
  const ends = [
    `${committed} committed`,
    ...(overtaken > 0 ? [`${overtaken} overtaken by newer events`] : []),
    `${failedAgain} failed again`,
    `${waiting} still waiting`,
    ...(summary.committedBefore > 0 ? [`${summary.committedBefore} committed before`] : []),
    ...(summary.missing > 0 ? [`${summary.missing} missing`] : []),
    ...(summary.refused > 0 ? [`${summary.refused} refused`] : []),
  ];
  const told = `${sent + reopened} redriven: ${ends.join(", ")}.`;
  if (summary.stopped === "too-many-failed") return `${told} Stopped: too many failed again.`;
  return summary.stopped === "interrupted" ? `${told} Interrupted; run it again to go on.` : told;
}

const BAR_WIDTH = 24;

/** Progress in one line of a terminal, event by event. */
export function createProgress(total: number): (event: RedriveEvent) => string {
  let gone = 0;
  let committed = 0;
  let failed = 0;
  return (event) => {
    if (event.kind === "sent" || event.kind === "reopened") gone += 1;
    if (event.kind === "ended" && event.end === "committed") committed += 1;
    if (event.kind === "ended" && event.end === "failed-again") failed += 1;
    const share = total === 0 ? 1 : Math.min(1, gone / total);
    const full = Math.round(share * BAR_WIDTH);
    const bar = "█".repeat(full) + "░".repeat(BAR_WIDTH - full);
    return `${bar} ${gone}/${total} sent, ${committed} committed, ${failed} failed again`;
  };
}

function time(at: number): string {
  return new Date(at).toISOString();
}
