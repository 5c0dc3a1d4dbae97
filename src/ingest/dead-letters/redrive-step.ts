// Redrive step: takes one dead letter back to its queue.
//   B1. The ledger first, the source queue second, the dead-letter queue last. Dying in between
//       leaves the dead letter where it is, and the next run does the same again; a message that
//       was sent twice is applied once, as its key is the same.
//   B2. A record that was committed meanwhile is not sent again: its dead letter is taken away, and
//       its dossier. Neither is done by what was known before: the ledger is asked once more, as an
//       object that comes back makes work of a committed record.
//   B3. A FIFO queue drops what has the dedup id of something sent within five minutes. So the id
//       is new in every redrive, and the same when one redrive has to ask twice.
//   B4. What the ledger said of the records may be some seconds old. Whatever changed since is
//       refused by the ledger itself, or sent once more and known as a duplicate.
//   B5. A queue may take less than SQS allows. What it refuses for good is offered once more as it
//       came, without our mark, which is all that there can be too much of.
//   B6. Each record of a message that was given up on has a letter, and all that are bare hold the
//       whole message. It goes back once per run, and all its records are tried (F5 of fail.ts);
//       sent once per letter, what still fails would bring as many letters again for each.

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
import { type Followed, fenceNow } from "./redrive-follow.ts";
import { type RecordViews, showRecords } from "./show-records.ts";

const TRIES_MAX = 4;
const RETRY_MS: DurationMs = durationMs(200);

export interface RedriveStepPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly source: QueueSender;
  readonly deadLetters: QueueReceiver;
}

export type StepOutcome =
  | { readonly kind: "sent"; readonly records: Followed<unknown>["records"] }
  | { readonly kind: "committed-before" }
  | { readonly kind: "refused"; readonly reason: string };

/** Reopens the records that are parked, and tells with which fences all of them go on (B4). */
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

/** Takes a dead letter back (B1). `runId` names the redrive, `views` what it was told before. */
export async function sendBack(
  ports: RedriveStepPorts,
  letter: ReadDeadLetter,
  known: { readonly runId: string; readonly views: RecordViews; readonly wentBack: boolean },
): Promise<StepOutcome> {
  const { ledger, source } = ports;
  const { scope, delivery } = letter;
  const keys = letter.records.map(({ key }) => key);
  const committed = (views: RecordViews) =>
    keys.every((key) => views.get(key)?.record.kind === "committed");
  const views = committed(known.views) ? await showRecords(ledger, scope, keys) : known.views;
  if (committed(views)) {
    // Without its dossier, a bare letter that is still there would be nobody's.
    if (await takeAway(ports, letter)) await ledger.removeNotes(scope, "dossier", keys); // B2
    return { kind: "committed-before" };
  }
  if (known.wentBack) {
    await takeAway(ports, letter); // B6
    return { kind: "sent", records: withFences(letter.records, views) };
  }
  const records = await reopenRecords(ledger, scope, letter.records, views);
  const dedupId = sha256Hex(`redrive ${known.runId} ${delivery.messageId}`); // B3
  const { fifo, limits } = source;
  const original = originalOf(letter, { fifo, limits, dedupId });
  let outcome = await sendPatiently(ports, original);
  if (outcome.kind === "refused" && outcome.retry === "never") {
    const room = { ...limits, messageBytesMax: 0 }; // B5
    outcome = await sendPatiently(ports, originalOf(letter, { fifo, limits: room, dedupId }));
  }
  if (outcome.kind === "refused") {
    return { kind: "refused", reason: `${outcome.code}: ${outcome.message}` };
  }
  await takeAway(ports, letter);
  return { kind: "sent", records };
}

/** Removes the dossier of a record that is committed, if it still is (B2). */
export async function forgetCommitted(ledger: Ledger, scope: LedgerScope, key: RecordKey) {
  const view = await ledger.show(scope, key);
  const done = view === undefined || view.record.kind === "committed";
  if (done) await ledger.removeNotes(scope, "dossier", [key]);
}

async function sendPatiently(
  { clock, source }: RedriveStepPorts,
  message: OutgoingMessage,
): Promise<SendOutcome> {
  const tried = await retryBounded<SendOutcome, unknown>(boundsOf(clock), async () => {
    try {
      const [outcome] = await source.sendBatch([message]);
      const final = outcome?.kind === "sent" || outcome?.retry === "never";
      return final ? { kind: "done", value: outcome } : { kind: "retry", reason: outcome };
    } catch (error) {
      return { kind: "retry", reason: transient(error) };
    }
  });
  if (tried.kind === "done") return tried.value;
  const { reason } = tried;
  if (reason instanceof TidegateError) throw reason;
  if (reason !== undefined) return reason as SendOutcome;
  throw new TidegateError("TG_QUEUE_UNAVAILABLE", `${source.name}: no answer`);
}

/** Deletes a dead letter. The next run finds one that cannot be deleted (B1). */
export async function takeAway(
  { clock, deadLetters }: Pick<RedriveStepPorts, "clock" | "deadLetters">,
  { delivery }: ReadDeadLetter,
): Promise<boolean> {
  const tried = await retryBounded<boolean, unknown>(boundsOf(clock), async () => {
    try {
      const [outcome] = await deadLetters.deleteBatch([delivery.receipt]);
      const final = outcome?.kind === "done" || outcome?.kind === "gone";
      if (final) return { kind: "done", value: outcome.kind === "done" };
      return { kind: "retry", reason: outcome };
    } catch (error) {
      return { kind: "retry", reason: transient(error) };
    }
  });
  return tried.kind === "done" && tried.value;
}

function boundsOf(clock: Clock): RetryBounds {
  const sleep = (span: DurationMs) => clock.sleep(span);
  return { triesMax: TRIES_MAX, pause: { delayMs: linearBackoff(RETRY_MS), sleep } };
}

/** Returns an error that may pass, and throws any other. */
function transient(error: unknown): TidegateError {
  if (error instanceof TidegateError && error.retry !== "never") return error;
  throw error;
}
