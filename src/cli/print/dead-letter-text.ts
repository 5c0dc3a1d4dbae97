// Dead-letter text: dead letters as lines for people and as JSON for programs.
//   T1. Only dossiers are printed, which were masked when they were written. Message bodies are
//       never shown.

import { counted } from "../../core/encoding/counted.ts";
import type {
  DeadLetterEntry,
  DeadLetterGroup,
  Dossier,
  DropEvent,
  RedriveEvent,
  RedriveItem,
  RedriveSummary,
} from "../../operate/dead-letters.ts";

const LABEL_WIDTH = 13;
const MESSAGE_CHARS = 100;

export function deadLetterJson(entry: DeadLetterEntry): string {
  const { pipeline, generation, key, fingerprint, message, failedAt, state, object } = entry;
  const { copies, dossier, haltedGroup: halted_group } = entry;
  return JSON.stringify({
    pipeline,
    generation,
    key,
    state,
    class: entry.class,
    fingerprint,
    message,
    objects: object === null ? [] : [object],
    failed_at: time(failedAt),
    copies,
    halted_group,
    dossier,
  });
}

export function deadLetterLines(entry: DeadLetterEntry): string[] {
  const { pipeline, key, fingerprint, failedAt, state, copies, haltedGroup: group } = entry;
  const name = entry.object ?? entry.businessKey;
  const queued = copies === null ? "" : `, ${copies} in the queue`;
  const where = group === null ? queued : `${queued}, halts group ${group}`;
  return [
    `${time(failedAt)}  ${entry.class}  ${fingerprint}  ${name ?? key}`,
    `  ${pipeline}: ${stateText(state)}${where}: ${shortened(entry.message)}`,
    ...(name === null ? [] : [`  ${key}`]),
  ];
}

/** The message as one short line. */
function shortened(message: string): string {
  const line = message.replace(/\s+/g, " ");
  return line.length <= MESSAGE_CHARS ? line : `${line.slice(0, MESSAGE_CHARS - 1)}…`;
}

function stateText(state: DeadLetterEntry["state"]): string {
  if (state === "parked") return "dead-lettered";
  if (state === "unknown") return "not in the ledger";
  return state === "committed" ? "committed" : "in progress";
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

export function dossierLines(dossier: Dossier, state: DeadLetterEntry["state"]): string[] {
  const { object, stack, dead_letter: deadLetter, business_key: businessKey } = dossier;
  const named = object === null ? businessKey : `s3://${object.bucket}/${object.key}`;
  const title = named ?? dossier.record_key;
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
    row("queue", `${dossier.queue}, received ${counted(dossier.receive_count, "time")}`),
    row(
      "dead letter",
      deadLetter === null
        ? "none: the message is still in its own queue"
        : `${deadLetter.queue}, message ${deadLetter.message_id}, since ${time(deadLetter.sent_at)}`,
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

export function eventLine(
  event: RedriveEvent | DropEvent,
  planned: "redriven" | "dropped" = "redriven",
): string {
  const name = nameOf(event.item);
  switch (event.kind) {
    case "planned":
      return `would be ${planned}: ${name}`;
    case "sent":
      return `sent back: ${name}`;
    case "committed-before":
      return `already committed, dead letter removed: ${name}`;
    case "reopened":
      return `reopened in its own queue, redelivered by ${time(event.deliveredBy)}: ${name}`;
    case "in-progress":
      return `already in progress: ${name}`;
    case "missing":
      return `not in the dead-letter queue (expired, or received by another reader): ${name}`;
    case "refused":
      return `rejected (${event.reason}): ${name}`;
    case "ended":
      return `${event.end.replace("-", " ")}: ${name}`;
    case "dropped":
      return event.messageDeleted
        ? `dropped: ${name}`
        : `dropped; its own queue deletes it on the next delivery: ${name}`;
    case "skipped":
      return `not dropped, ${event.reason}: ${name}`;
  }
}

function nameOf({ key, object, errorClass }: RedriveItem): string {
  return `${object ?? key} (${errorClass})`;
}

/** The summary of a run in one line; `total` is the number of dead letters that it selected. */
export function redriveSummaryLine(summary: RedriveSummary, total: number): string {
  const { planned, sent, reopened, committed, overtaken, failedAgain, waiting } = summary;
  if (planned > 0) return `${planned} would be redriven; nothing was changed.`;
  const ends = [
    `${committed} committed`,
    ...(overtaken > 0 ? [`${overtaken} overtaken by newer events`] : []),
    `${failedAgain} failed again`,
    `${waiting} still waiting`,
    ...(summary.committedBefore > 0 ? [`${summary.committedBefore} committed before`] : []),
    ...(summary.missing > 0 ? [`${summary.missing} missing`] : []),
    ...(summary.refused > 0 ? [`${summary.refused} rejected`] : []),
  ];
  const text = `${sent + reopened} redriven: ${ends.join(", ")}.`;
  const handled = sent + reopened + summary.committedBefore + summary.missing + summary.refused;
  // A run that reached its last dead letter has nothing left to stop.
  if (summary.stopped === "too-many-failed" && handled !== total) {
    return `${text} Stopped before the rest: too many failed again.`;
  }
  return summary.stopped === "interrupted"
    ? `${text} Interrupted; run it again to continue.`
    : text;
}

const BAR_WIDTH = 24;

/** A progress bar, updated event by event. */
export function createProgress(total: number): (event: RedriveEvent) => string {
  let redriven = 0;
  let committed = 0;
  let failed = 0;
  return (event) => {
    if (event.kind === "sent" || event.kind === "reopened") redriven += 1;
    if (event.kind === "ended" && event.end === "committed") committed += 1;
    if (event.kind === "ended" && event.end === "failed-again") failed += 1;
    const share = total === 0 ? 1 : Math.min(1, redriven / total);
    const full = Math.round(share * BAR_WIDTH);
    const bar = "█".repeat(full) + "░".repeat(BAR_WIDTH - full);
    return `${bar} ${redriven}/${total} sent, ${committed} committed, ${failed} failed again`;
  };
}

function time(at: number): string {
  return new Date(at).toISOString();
}
