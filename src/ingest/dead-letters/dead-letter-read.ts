// Dead-letter reading: from a message in a dead-letter queue to what it is about, and back to the
// message it once was.
//   R1. Whose it is, is told by the body alone: the keys of its records within our scope. So a
//       queue that two pipelines share is safe, and so is one whose ledger forgot.
//   R2. What carries no word of ours was moved by the queue's own redrive policy, because processes
//       died over it ("back-stop"), or was put there by somebody ("unknown"). It is read for its
//       keys like any other.
//   R3. What goes back is what came: the same body, the same attributes, ours taken off,
//       and one that says that it was sent again, where there is room for it.
//   R4. A letter that could not carry all our words (X4 of dead-letter.ts) is read together with
//       its dossier, which has them. One that may be bare is ours only if a dossier of ours names
//       it, by its message id or, in a FIFO queue, by the dedup id that we gave it: its body is
//       readable to every pipeline that got the same event, and each may have a letter of its own.
//       So a copy that no dossier names is left alone, even one of ours.

import { messageBytes } from "../../core/encoding/message-size.ts";
import { parseQueueArn } from "../../core/queue-arn.ts";
import { epochMs } from "../../core/units.ts";
import { fenceOf } from "../../ledger/record-state.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { OutgoingMessage, QueueSender } from "../../ports/queue.ts";
import type { Delivery, QueueReceiver } from "../../ports/queue-receiver.ts";
import type { Fence, LedgerScope, ObjectRef, RecordKey } from "../../ports/record.ts";
import {
  BACK_STOP_CLASS,
  type DeadLetterFacts,
  UNKNOWN_CLASS,
} from "../policy/dead-letter-filter.ts";
import { decodeDelivery } from "../stages/decode.ts";
import {
  ATTRIBUTES_MAX,
  DEAD_LETTER_ATTRIBUTES,
  deadLetterDedupId,
  type FailureFacts,
  isOurs,
  mayBeBare,
  REDRIVEN_ATTRIBUTE,
} from "./dead-letter.ts";
import { type Dossier, decodeDossier } from "./dossier.ts";

/** One record that a dead letter stands for. */
export interface DeadLetterRecord {
  readonly key: RecordKey;
  readonly identity: string;
  readonly object: ObjectRef | null;
}

export interface ReadDeadLetter extends DeadLetterFacts {
  readonly delivery: Delivery;
  readonly scope: LedgerScope;
  /** The one that was given up on; of what has no word of ours, all that are in the body. */
  readonly records: readonly DeadLetterRecord[];
  /** Null where no runtime gave up on it. */
  readonly failure: FailureFacts | null;
  /** Of a bare letter (X4): the id of the message that it stands for. */
  readonly bareOf: string | null;
  /** Of the failure; 0 where there is none. */
  readonly fence: Fence;
  readonly message: string;
  /** Its object as it may be shown; `objects` is what it is chosen by, and nobody's to see. */
  readonly shownObject: string | null;
}

const NO_FENCE = fenceOf(0);

/** Tells what a message of a dead-letter queue is to a scope; null if it is not ours. */
export type DeadLetterReader = (delivery: Delivery) => Promise<ReadDeadLetter | null>;

/** Reads dead letters, and what their dossiers tell where they are silent themselves (R4). */
export function createDeadLetterReader(
  ports: { readonly ledger: Ledger; readonly deadLetters: Pick<QueueReceiver, "facts"> },
  scope: LedgerScope,
): DeadLetterReader {
  const { ledger, deadLetters } = ports;
  let limit: Promise<number> | null = null;
  const bytesMax = () => {
    limit ??= deadLetters.facts().then(({ messageBytesMax }) => messageBytesMax);
    return limit;
  };
  return async (delivery) => {
    const letter = readLetter(delivery, scope);
    if (letter === null || delivery.movedFrom !== null) return letter;
    if (delivery.attributes[DEAD_LETTER_ATTRIBUTES.errorClass] !== undefined) return letter;
    const found = await findDossiers(ledger, letter);
    const named = found.filter(({ names }) => names);
    const silent = delivery.attributes[DEAD_LETTER_ATTRIBUTES.key] === undefined;
    if (silent && named.length === 0 && mayBeBare(delivery, await bytesMax())) return null; // R4
    // Of a message with many records, several may have been given up on, each with a letter.
    if (named.length === 0) return withDossiers(ledger, letter, found);
    const bareOf = silent ? (named[0]?.dossier.message_id ?? null) : null;
    return withDossiers(ledger, { ...letter, bareOf }, named);
  };
}

interface Found {
  readonly record: DeadLetterRecord;
  readonly dossier: Dossier;
  /** Whether this letter is the one that the dossier tells of. */
  readonly names: boolean;
}

async function findDossiers(ledger: Ledger, letter: ReadDeadLetter): Promise<readonly Found[]> {
  const { scope, delivery, records } = letter;
  const found: Found[] = [];
  for (const record of records) {
    const note = await ledger.findNote(scope, "dossier", record.key);
    if (note === undefined) continue;
    const dossier = decodeDossier(note.body);
    const names =
      dossier.dead_letter?.message_id === delivery.messageId ||
      (typeof delivery.dedupId === "string" &&
        delivery.dedupId ===
          deadLetterDedupId(record.key, await fenceIn(ledger, scope, record.key, dossier)));
    found.push({ record, dossier, names });
  }
  return found;
}

async function withDossiers(
  ledger: Ledger,
  letter: ReadDeadLetter,
  meant: readonly Found[],
): Promise<ReadDeadLetter> {
  const { scope } = letter;
  const [first] = meant;
  if (first === undefined) return letter;
  const { record, dossier } = first;
  const { error_class: errorClass, fingerprint, message, last_failed_at } = dossier;
  const records = meant.map((each) => each.record);
  const fence = letter.failure?.fence ?? (await fenceIn(ledger, scope, record.key, dossier));
  const shownObject = dossier.object === null ? null : objectUrl(dossier.object);
  const failedAt = epochMs(last_failed_at);
  const facts = { errorClass, fingerprint, message, shownObject, failedAt };
  const failure = { ...failureIn(dossier), fence, ...letter.failure };
  return {
    ...letter,
    ...about(records, failure),
    records,
    ...facts,
    failure,
    fence: fenceOf(fence),
  };
}

/** Of a letter that was sent and not yet noted, the ledger tells the fence. */
async function fenceIn(ledger: Ledger, scope: LedgerScope, key: RecordKey, dossier: Dossier) {
  const noted = dossier.dead_letter?.fence;
  if (noted !== undefined) return fenceOf(noted);
  return (await ledger.show(scope, key))?.record.fence ?? NO_FENCE;
}

function failureIn(dossier: Dossier): Omit<FailureFacts, "fence"> {
  const { attempts, message, queue, message_id, last_failed_at: failed_at } = dossier;
  return { attempts, message, queue, message_id, failed_at, attributes: {} };
}

/** Reads a dead letter; null if it belongs to another pipeline or generation (R1). */
function readLetter(delivery: Delivery, scope: LedgerScope): ReadDeadLetter | null {
  const { attributes } = delivery;
  const key = attributes[DEAD_LETTER_ATTRIBUTES.key];
  const all = recordsOf(delivery, scope);
  if (key === undefined) return backStop(delivery, scope, all);
  const records = all.filter((record) => record.key === key);
  if (records.length === 0) return null; // R1
  const failure = readFailure(attributes[DEAD_LETTER_ATTRIBUTES.failure]);
  return {
    ...about(records, failure),
    delivery,
    scope,
    records,
    failure,
    bareOf: null,
    fence: failure === null ? NO_FENCE : fenceOf(failure.fence),
    errorClass: attributes[DEAD_LETTER_ATTRIBUTES.errorClass] ?? UNKNOWN_CLASS,
    fingerprint: attributes[DEAD_LETTER_ATTRIBUTES.fingerprint] ?? UNKNOWN_CLASS,
    failedAt: failure === null ? delivery.sentAt : epochMs(failure.failed_at),
    message: failure?.message ?? "",
  };
}

/** R2 */
function backStop(
  delivery: Delivery,
  scope: LedgerScope,
  records: readonly DeadLetterRecord[],
): ReadDeadLetter | null {
  if (records.length === 0) return null;
  const moved = delivery.movedFrom !== null;
  const word = moved ? BACK_STOP_CLASS : UNKNOWN_CLASS;
  return {
    ...about(records, null),
    delivery,
    scope,
    records,
    failure: null,
    bareOf: null,
    fence: NO_FENCE,
    errorClass: word,
    fingerprint: word,
    failedAt: delivery.sentAt,
    message: moved
      ? `moved here by the redrive policy of ${delivery.movedFrom}`
      : "put here by somebody else",
  };
}

function about(records: readonly DeadLetterRecord[], failure: FailureFacts | null) {
  const objects = records.flatMap(({ object }) => (object === null ? [] : [objectUrl(object)]));
  return {
    keys: records.flatMap(({ key, identity }) => [key, identity]),
    objects,
    shownObject: failure?.object ?? objects[0] ?? null,
  };
}

/** The records of a body within a scope, whatever bucket or prefix the pipeline takes. */
function recordsOf(delivery: Delivery, { pipeline, generation }: LedgerScope): DeadLetterRecord[] {
  const source = { bucket: null, prefix: "", queue: null, contents: "objects" } as const;
  const { records } = decodeDelivery({ name: pipeline, generation, source }, delivery);
  return records.map(({ key, identity, object }) => ({ key, identity, object }));
}

function readFailure(text: string | undefined): FailureFacts | null {
  if (text === undefined) return null;
  try {
    const facts = JSON.parse(text) as FailureFacts;
    const known = Number.isSafeInteger(facts.fence) && Number.isSafeInteger(facts.failed_at);
    return known ? facts : null;
  } catch {
    return null; // Somebody tampered with it; the key and the body are still good.
  }
}

/** Whether a letter came from that queue, as far as it tells: others may share its queue. */
export function isFrom({ failure, delivery }: ReadDeadLetter, queue: string): boolean {
  const from = failure?.queue ?? parseQueueArn(delivery.movedFrom ?? "")?.name ?? queue;
  return from === queue;
}

/** The message as it was before it became a dead letter (R3). */
export function originalOf(
  { delivery, failure, records }: ReadDeadLetter,
  to: Pick<QueueSender, "fifo" | "limits"> & { readonly dedupId: string },
): OutgoingMessage {
  const { body } = delivery;
  const kept = Object.entries(delivery.attributes).filter(([name]) => !isOurs(name));
  const attributes = { ...Object.fromEntries(kept), ...failure?.attributes };
  const marked = { ...attributes, [REDRIVEN_ATTRIBUTE]: "1" };
  const room =
    Object.keys(marked).length <= ATTRIBUTES_MAX &&
    messageBytes(body, marked) <= to.limits.messageBytesMax;
  return {
    body,
    attributes: room ? marked : attributes,
    groupId: to.fifo ? (delivery.groupId ?? records[0]?.key ?? delivery.messageId) : null,
    dedupId: to.fifo ? to.dedupId : null,
  };
}

export function objectUrl(object: { readonly bucket: string; readonly key: string }): string {
  return `s3://${object.bucket}/${object.key}`;
}
