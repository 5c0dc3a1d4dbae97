// Redrive step: takes one dead letter back to its queue.
//   B1. The ledger first, the source queue second, the dead-letter queue last. Dying in between
//       leaves the dead letter where it is, and the next run does the same again; a message that
//       was sent twice is applied once, as its key is the same.
//   B2. A record that was committed meanwhile is not sent again: its dead letter is taken away.
//   B3. A FIFO queue drops what has the dedup id of something sent within five minutes. So the id
//       is new in every redrive, and the same when one redrive has to ask twice.
//   B4. What the ledger said of the records may be some seconds old. Whatever changed since is
//       refused by the ledger itself, or sent once more and known as a duplicate.
//   B5. A queue may take less than SQS allows. What it refuses for good is offered once more as it
//       came, without our mark, which is all that there can be too much of.

import { TidegateError } from "../core/errors.ts";
import { sha256Hex } from "../core/hash.ts";
import type { LedgerScope } from "../core/record-state.ts";
import { type DurationMs, durationMs } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { OutgoingMessage, QueueSender, SendOutcome } from "../ports/queue.ts";
import type { QueueReceiver } from "../ports/queue-receiver.ts";
import { type Letter, type LetterRecord, originalOf } from "./dead-letter-read.ts";
import { type Followed, fenceNow } from "./redrive-follow.ts";
import type { RecordViews } from "./show-records.ts";

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
  records: readonly LetterRecord[],
  views: RecordViews,
) {
  const kindOf = ({ key }: LetterRecord) => views.get(key)?.record.kind;
  const parked = records.filter((record) => kindOf(record) === "parked");
  if (parked.length > 0) {
    await ledger.reopen(
      scope,
      parked.map(({ key }) => key),
    );
  }
  return {
    /** Nothing is left to be done for any of them. */
    committed: records.every((record) => kindOf(record) === "committed"),
    records: records.map((record) => ({ ...record, fence: fenceNow(views.get(record.key)) })),
  };
}

/** Takes a dead letter back (B1). `runId` names the redrive, `views` what it was told before. */
export async function sendBack(
  ports: RedriveStepPorts,
  letter: Letter,
  { runId, views }: { readonly runId: string; readonly views: RecordViews },
): Promise<StepOutcome> {
  const { ledger, source } = ports;
  const { scope, delivery } = letter;
  const { committed, records } = await reopenRecords(ledger, scope, letter.records, views);
  if (committed) {
    await takeAway(ports, letter);
    const keys = records.map(({ key }) => key);
    await ledger.removeNotes(scope, "dossier", keys); // B2
    return { kind: "committed-before" };
  }
  const dedupId = sha256Hex(`redrive ${runId} ${delivery.messageId}`); // B3
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

async function sendPatiently(
  { clock, source }: RedriveStepPorts,
  message: OutgoingMessage,
): Promise<SendOutcome> {
  for (let tries = 1; ; tries += 1) {
    let trouble: unknown = null;
    const [outcome] = await source.sendBatch([message]).catch((error: unknown) => {
      if (!(error instanceof TidegateError) || error.retry === "never") throw error;
      trouble = error;
      return [];
    });
    if (outcome?.kind === "sent") return outcome;
    if (outcome?.kind === "refused" && outcome.retry === "never") return outcome;
    if (tries >= TRIES_MAX) {
      if (outcome !== undefined) return outcome;
      throw trouble ?? new TidegateError("TG_QUEUE_UNAVAILABLE", `${source.name}: no answer`);
    }
    await clock.sleep(durationMs(RETRY_MS * tries));
  }
}

/** Deletes a dead letter. One that cannot be deleted is found again by the next run (B1). */
export async function takeAway(
  { clock, deadLetters }: Pick<RedriveStepPorts, "clock" | "deadLetters">,
  { delivery }: Letter,
): Promise<boolean> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const [outcome] = await deadLetters.deleteBatch([delivery.receipt]).catch(keepTrying);
    if (outcome?.kind === "done") return true;
    if (outcome?.kind === "gone") return false;
    if (tries < TRIES_MAX) await clock.sleep(durationMs(RETRY_MS * tries));
  }
  return false;
}

function keepTrying(error: unknown): readonly [] {
  if (error instanceof TidegateError && error.retry === "later") return [];
  throw error;
}
