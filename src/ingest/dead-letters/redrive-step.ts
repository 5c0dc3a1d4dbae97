// Redrive step: sends one dead letter back to its queue.
//   B1. The ledger is written first, then the message is sent to the source queue, then the dead
//       letter is deleted. A crash in between leaves the dead letter, and the next run repeats the
//       step. A message that was sent twice is applied once, because its key is the same.
//   B2. A record that was committed meanwhile is not sent again: its dead letter and its dossier
//       are removed. The ledger is read again before that, because an object that comes back
//       reopens a committed record.
//   B3. A FIFO queue drops a message whose deduplication id was sent within five minutes. So each
//       redrive uses a new id, and retries of the send within one redrive use the same.
//   B4. The given views of the records may be some seconds old. The ledger rejects a change that no
//       longer applies, or the message is sent again and recognised as a duplicate.
//   B5. A queue may accept less than SQS allows. A message that it rejects permanently is sent once
//       more as it arrived, without the redrive mark, which is the only addition.
//   B6. Each dead-lettered record of a message has a dead letter, and each bare one contains the
//       whole message. The message is sent once per run, and all its records are tried (F5 of
//       fail.ts). Sent once per dead letter, each send would add a dead letter per failing record.

import { linearBackoff, type RetryBounds, retryBounded } from "../../core/bounded-retry.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import { TidegateError } from "../../core/errors.ts";
import { type DurationMs, durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { OutgoingMessage, QueueSender, SendOutcome } from "../../ports/queue.ts";
import type { QueueReceiver } from "../../ports/queue-receiver.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import { type DeadLetterRecord, originalOf, type ReadDeadLetter } from "./dead-letter-read.ts";
import type { HaltedQueue } from "./halted-messages.ts";
import { type Followed, fenceNow } from "./redrive-follow.ts";
import { type RecordViews, showRecords } from "./show-records.ts";

const TRIES_MAX = 4;
const RETRY_MS: DurationMs = durationMs(200);

export interface RedriveStepPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly source: QueueSender & HaltedQueue;
  readonly deadLetters: QueueReceiver;
}

export type StepOutcome =
  | { readonly kind: "sent"; readonly records: Followed<unknown>["records"] }
  | { readonly kind: "committed-before" }
  | { readonly kind: "refused"; readonly reason: string };

/** Reopens the parked records and returns all records with their fences (B4). */
export async function reopenRecords(
  ledger: Ledger,
  scope: LedgerScope,
  records: readonly DeadLetterRecord[],
  views: RecordViews,
): Promise<Followed<unknown>["records"]> {
  const parked = records.filter(({ key }) => views.get(key)?.record.kind === "parked");
  if (parked.length > 0) {
    await ledger.reopen(
      scope,
      parked.map(({ key }) => key),
    );
  }
  return withFences(records, views);
}

function withFences(records: readonly DeadLetterRecord[], views: RecordViews) {
  return records.map((record) => ({ ...record, fence: fenceNow(views.get(record.key)) }));
}

/**
 * Redrives a dead letter (B1). `views` were read earlier in the run `runId`. `alreadySent` says
 * that the run has sent the message for another dead letter.
 */
export async function sendBack(
  ports: RedriveStepPorts,
  deadLetter: ReadDeadLetter,
  run: { readonly runId: string; readonly views: RecordViews; readonly alreadySent: boolean },
): Promise<StepOutcome> {
  const { ledger, source } = ports;
  const { scope, delivery } = deadLetter;
  const keys = deadLetter.records.map(({ key }) => key);
  const committed = (views: RecordViews) =>
    keys.every((key) => views.get(key)?.record.kind === "committed");
  const views = committed(run.views) ? await showRecords(ledger, scope, keys) : run.views;
  if (committed(views)) {
    // A bare dead letter that is still in the queue must keep the dossier that names it.
    const deleted = await deleteDeadLetter(ports, deadLetter);
    if (deleted) await ledger.removeNotes(scope, "dossier", keys); // B2
    return { kind: "committed-before" };
  }
  if (run.alreadySent) {
    await deleteDeadLetter(ports, deadLetter); // B6
    return { kind: "sent", records: withFences(deadLetter.records, views) };
  }
  const records = await reopenRecords(ledger, scope, deadLetter.records, views);
  const dedupId = sha256Hex(`redrive ${run.runId} ${delivery.messageId}`); // B3
  const { fifo, limits } = source;
  const original = originalOf(deadLetter, { fifo, limits, dedupId });
  let outcome = await sendWithRetries(ports, original);
  if (outcome.kind === "refused" && outcome.retry === "never") {
    const unmarked = { ...limits, messageBytesMax: 0 }; // B5
    const message = originalOf(deadLetter, { fifo, limits: unmarked, dedupId });
    outcome = await sendWithRetries(ports, message);
  }
  if (outcome.kind === "refused") {
    return { kind: "refused", reason: `${outcome.code}: ${outcome.message}` };
  }
  await deleteDeadLetter(ports, deadLetter);
  return { kind: "sent", records };
}

/** Removes the dossier of a record if it is still committed (B2). */
export async function removeCommittedDossier(ledger: Ledger, scope: LedgerScope, key: RecordKey) {
  const view = await ledger.show(scope, key);
  const removable = view === undefined || view.record.kind === "committed";
  if (removable) await ledger.removeNotes(scope, "dossier", [key]);
}

async function sendWithRetries(
  { clock, source }: RedriveStepPorts,
  message: OutgoingMessage,
): Promise<SendOutcome> {
  const result = await retryBounded<SendOutcome, unknown>(boundsOf(clock), async () => {
    try {
      const [outcome] = await source.sendBatch([message]);
      const final = outcome?.kind === "sent" || outcome?.retry === "never";
      return final ? { kind: "done", value: outcome } : { kind: "retry", reason: outcome };
    } catch (error) {
      return { kind: "retry", reason: transient(error) };
    }
  });
  if (result.kind === "done") return result.value;
  const { reason } = result;
  if (reason instanceof TidegateError) throw reason;
  if (reason !== undefined) return reason as SendOutcome;
  throw new TidegateError("TG_QUEUE_UNAVAILABLE", `${source.name}: no answer`);
}

/** Deletes a dead letter. The next run finds one that cannot be deleted (B1). */
export async function deleteDeadLetter(
  { clock, deadLetters }: Pick<RedriveStepPorts, "clock" | "deadLetters">,
  { delivery }: ReadDeadLetter,
): Promise<boolean> {
  const result = await retryBounded<boolean, unknown>(boundsOf(clock), async () => {
    try {
      const [outcome] = await deadLetters.deleteBatch([delivery.receipt]);
      const final = outcome?.kind === "done" || outcome?.kind === "gone";
      if (final) return { kind: "done", value: outcome.kind === "done" };
      return { kind: "retry", reason: outcome };
    } catch (error) {
      return { kind: "retry", reason: transient(error) };
    }
  });
  return result.kind === "done" && result.value;
}

function boundsOf(clock: Clock): RetryBounds {
  const sleep = (span: DurationMs) => clock.sleep(span);
  return { triesMax: TRIES_MAX, pause: { delayMs: linearBackoff(RETRY_MS), sleep } };
}

/** Returns a transient error, and throws any other. */
function transient(error: unknown): TidegateError {
  if (error instanceof TidegateError && error.retry !== "never") return error;
  throw error;
}
