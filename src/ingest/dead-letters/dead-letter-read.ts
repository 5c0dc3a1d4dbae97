// Dead-letter reading: turns a message of a dead-letter queue into its records and failure, and
// back into the original message.
//   R1. Only the body decides whose a dead letter is: the keys of its records within this scope. So
//       two pipelines may share a queue, and the ledger may have expired the records.
//   R2. The queue's redrive policy moved a message without Tidegate attributes, because processes
//       crashed on it ("back-stop"), or another program sent it ("unknown"). Its keys are read
//       from its body like those of any other.
//   R3. A redrive sends what arrived: the same body and the same attributes, without those of
//       Tidegate. It adds a mark for redriven messages if the mark fits.
//   R4. A dead letter that lacks attributes (X4 of dead-letter.ts) is read together with its
//       dossier, which has them. One that may be bare belongs to this scope only if a dossier of
//       the scope names it: by message id or, in a FIFO queue, by the deduplication id of the send.
//       Every pipeline that got the same event can read the body, and each may have its own dead
//       letter. So a copy that no dossier names is ignored, even if this pipeline sent it.
//   R5. The body of an own message shows its key only to its pipeline. Without the pipeline, the
//       identity in the attributes (X8 of dead-letter.ts) decides whose a dead letter is, and a
//       bare one is found by its message id among the dossiers of the scope.

import { messageBytes } from "../../core/encoding/message-size.ts";
import { parseQueueArn } from "../../core/queue-arn.ts";
import { epochMs } from "../../core/units.ts";
import { recordKey } from "../../ledger/record-key.ts";
import { asRecordKey, fenceOf } from "../../ledger/record-state.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { OutgoingMessage, QueueSender } from "../../ports/queue.ts";
import type { Delivery, QueueReceiver } from "../../ports/queue-receiver.ts";
import type { Fence, LedgerScope, ObjectRef, RecordKey } from "../../ports/record.ts";
import {
  BACK_STOP_CLASS,
  type DeadLetterFacts,
  UNKNOWN_CLASS,
} from "../policy/dead-letter-filter.ts";
import type { OwnDecoding } from "../spec/own-source.ts";
import { decodeDelivery } from "../stages/decode.ts";
import {
  ATTRIBUTES_MAX,
  DEAD_LETTER_ATTRIBUTES,
  deadLetterDedupId,
  type FailureFacts,
  isTidegateAttribute,
  mayBeBare,
  REDRIVEN_ATTRIBUTE,
  redriveMark,
} from "./dead-letter.ts";
import { type Dossier, decodeDossier } from "./dossier.ts";
import { dossiersOf } from "./dossier-list.ts";

/** One record of a dead letter. */
export interface DeadLetterRecord {
  readonly key: RecordKey;
  readonly identity: string;
  readonly object: ObjectRef | null;
}

export interface ReadDeadLetter extends DeadLetterFacts {
  readonly delivery: Delivery;
  readonly scope: LedgerScope;
  /** The dead-lettered record; without Tidegate attributes, all records of the body. */
  readonly records: readonly DeadLetterRecord[];
  /** Null if no consumer dead-lettered it. */
  readonly failure: FailureFacts | null;
  /** Only of a bare dead letter (X4): the id of the original message. */
  readonly bareOf: string | null;
  /** The fence of the failure; 0 without one. */
  readonly fence: Fence;
  readonly message: string;
  /** The masked object, for display. `objects` is not masked and only for filters. */
  readonly shownObject: string | null;
}

const NO_FENCE = fenceOf(0);

/** Reads a message of a dead-letter queue; null if it belongs to another scope. */
export type DeadLetterReader = (delivery: Delivery) => Promise<ReadDeadLetter | null>;

/** Reads dead letters, and from their dossiers whatever their attributes lack (R4). */
export function createDeadLetterReader(
  ports: { readonly ledger: Ledger; readonly deadLetters: Pick<QueueReceiver, "facts"> },
  scope: LedgerScope,
  own: OwnDecoding | null = null,
): DeadLetterReader {
  const { ledger, deadLetters } = ports;
  const findBare = createBareFinder(ledger, scope);
  let limit: Promise<number> | null = null;
  const bytesMax = () => {
    limit ??= deadLetters.facts().then(({ messageBytesMax }) => messageBytesMax);
    return limit;
  };
  return async (delivery) => {
    const deadLetter = parseDeadLetter(delivery, scope, own);
    if (deadLetter === null || delivery.movedFrom !== null) return deadLetter;
    if (delivery.attributes[DEAD_LETTER_ATTRIBUTES.errorClass] !== undefined) return deadLetter;
    const matches = await findDossiers(ledger, deadLetter);
    const named = matches.filter(({ names }) => names);
    const keyless = delivery.attributes[DEAD_LETTER_ATTRIBUTES.key] === undefined;
    if (keyless && named.length === 0 && mayBeBare(delivery, await bytesMax())) {
      const bare = await findBare(delivery); // R5
      if (bare === null) return null; // R4
      const bareOf = bare.dossier.message_id;
      return withDossiers(ledger, { ...deadLetter, bareOf }, [bare]);
    }
    // Several records of one message may be dead-lettered, each with its own dead letter.
    if (named.length === 0) return withDossiers(ledger, deadLetter, matches);
    const bareOf = keyless ? (named[0]?.dossier.message_id ?? null) : null;
    return withDossiers(ledger, { ...deadLetter, bareOf }, named);
  };
}

interface DossierMatch {
  readonly record: DeadLetterRecord;
  readonly dossier: Dossier;
  /** Whether the dossier names this dead letter. */
  readonly names: boolean;
}

/** Finds the dossier of an own message that names a bare dead letter (R5). Reads them once. */
function createBareFinder(ledger: Ledger, scope: LedgerScope) {
  let reading: Promise<Dossier[]> | null = null;
  const read = async () => {
    const dossiers: Dossier[] = [];
    for await (const dossier of dossiersOf(ledger, scope)) {
      const sent = dossier.dead_letter === null || dossier.dead_letter.bare === true;
      if (sent && typeof dossier.body_digest === "string") dossiers.push(dossier);
    }
    return dossiers;
  };
  return async (delivery: Delivery): Promise<DossierMatch | null> => {
    reading ??= read();
    for (const dossier of await reading) {
      const key = asRecordKey(dossier.record_key);
      if (!(await isNamedBy(ledger, scope, { key, dossier, delivery }))) continue;
      const record = { key, identity: dossier.idempotency_key, object: null };
      return { record, dossier, names: true };
    }
    return null;
  };
}

/** Whether a dossier names a dead letter (R4). */
async function isNamedBy(
  ledger: Ledger,
  scope: LedgerScope,
  { key, dossier, delivery }: { key: RecordKey; dossier: Dossier; delivery: Delivery },
): Promise<boolean> {
  if (dossier.dead_letter?.message_id === delivery.messageId) return true;
  if (typeof delivery.dedupId !== "string") return false;
  const fence = await fenceIn(ledger, scope, key, dossier);
  return delivery.dedupId === deadLetterDedupId(key, fence);
}

async function findDossiers(
  ledger: Ledger,
  deadLetter: ReadDeadLetter,
): Promise<readonly DossierMatch[]> {
  const { scope, delivery, records } = deadLetter;
  const matches: DossierMatch[] = [];
  for (const record of records) {
    const note = await ledger.findNote(scope, "dossier", record.key);
    if (note === undefined) continue;
    const dossier = decodeDossier(note.body);
    const names = await isNamedBy(ledger, scope, { key: record.key, dossier, delivery });
    matches.push({ record, dossier, names });
  }
  return matches;
}

async function withDossiers(
  ledger: Ledger,
  deadLetter: ReadDeadLetter,
  matches: readonly DossierMatch[],
): Promise<ReadDeadLetter> {
  const { scope } = deadLetter;
  const [first] = matches;
  if (first === undefined) return deadLetter;
  const { record, dossier } = first;
  const { error_class: errorClass, fingerprint, message, last_failed_at } = dossier;
  const records = matches.map((match) => match.record);
  const fence = deadLetter.failure?.fence ?? (await fenceIn(ledger, scope, record.key, dossier));
  const shownObject = dossier.object === null ? null : objectUrl(dossier.object);
  const failedAt = epochMs(last_failed_at);
  const facts = { errorClass, fingerprint, message, shownObject, failedAt };
  const failure = { ...failureIn(dossier), fence, ...deadLetter.failure };
  return {
    ...deadLetter,
    ...recordFacts(scope, records, failure),
    records,
    ...facts,
    failure,
    fence: fenceOf(fence),
  };
}

/** The ledger has the fence of a dead letter that was sent but is not in its dossier yet. */
async function fenceIn(ledger: Ledger, scope: LedgerScope, key: RecordKey, dossier: Dossier) {
  const fence = dossier.dead_letter?.fence;
  if (fence !== undefined) return fenceOf(fence);
  return (await ledger.show(scope, key))?.record.fence ?? NO_FENCE;
}

function failureIn(dossier: Dossier): Omit<FailureFacts, "fence"> {
  const { attempts, message, queue, message_id, last_failed_at: failed_at } = dossier;
  return { attempts, message, queue, message_id, failed_at, attributes: {} };
}

/** Reads a dead letter; null if it belongs to another pipeline or generation (R1). */
function parseDeadLetter(
  delivery: Delivery,
  scope: LedgerScope,
  own: OwnDecoding | null,
): ReadDeadLetter | null {
  const { attributes } = delivery;
  const key = attributes[DEAD_LETTER_ATTRIBUTES.key];
  const failure = readFailure(attributes[DEAD_LETTER_ATTRIBUTES.failure]);
  const identity = failure?.identity;
  if (identity !== undefined && recordKey(scope, identity) === key) {
    const record = { key: asRecordKey(key), identity, object: null };
    return withFailure(delivery, scope, [record], failure); // R5
  }
  const all = recordsOf(delivery, scope, own);
  if (key === undefined) return backStop(delivery, scope, all);
  const records = all.filter((record) => record.key === key);
  if (records.length === 0) return null; // R1
  return withFailure(delivery, scope, records, failure);
}

function withFailure(
  delivery: Delivery,
  scope: LedgerScope,
  records: readonly DeadLetterRecord[],
  failure: FailureFacts | null,
): ReadDeadLetter {
  const { attributes } = delivery;
  return {
    ...recordFacts(scope, records, failure),
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
  const errorClass = moved ? BACK_STOP_CLASS : UNKNOWN_CLASS;
  return {
    ...recordFacts(scope, records, null),
    delivery,
    scope,
    records,
    failure: null,
    bareOf: null,
    fence: NO_FENCE,
    errorClass,
    fingerprint: errorClass,
    failedAt: delivery.sentAt,
    message: moved
      ? `moved here by the redrive policy of ${delivery.movedFrom}`
      : "sent here by another program",
  };
}

function recordFacts(
  { pipeline }: LedgerScope,
  records: readonly DeadLetterRecord[],
  failure: FailureFacts | null,
) {
  const objects = records.flatMap(({ object }) => (object === null ? [] : [objectUrl(object)]));
  return {
    pipeline,
    keys: records.flatMap(({ key, identity }) => [key, identity]),
    objects,
    shownObject: failure?.object ?? objects[0] ?? null,
  };
}

/** The records of a body within a scope, for any bucket and prefix, and removals as well. */
function recordsOf(
  delivery: Delivery,
  { pipeline, generation }: LedgerScope,
  own: OwnDecoding | null,
): DeadLetterRecord[] {
  const source = { bucket: null, prefix: "", queue: null, contents: "objects", own } as const;
  const any = { name: pipeline, generation, source, onRemoved: "handle" } as const;
  const { records } = decodeDelivery(any, delivery);
  return records.map(({ key, identity, object }) => ({ key, identity, object }));
}

function readFailure(text: string | undefined): FailureFacts | null {
  if (text === undefined) return null;
  try {
    const facts = JSON.parse(text) as FailureFacts;
    const valid = Number.isSafeInteger(facts.fence) && Number.isSafeInteger(facts.failed_at);
    return valid ? facts : null;
  } catch {
    return null; // Another program changed it; the key and the body are still valid.
  }
}

/** Whether a dead letter came from this queue, or names none: sources may share its queue. */
export function isFrom({ failure, delivery }: ReadDeadLetter, queue: string): boolean {
  const from = failure?.queue ?? parseQueueArn(delivery.movedFrom ?? "")?.name ?? queue;
  return from === queue;
}

/** The original message of a dead letter (R3). */
export function originalOf(
  { delivery, failure, records }: ReadDeadLetter,
  to: Pick<QueueSender, "fifo" | "limits"> & { readonly dedupId: string },
): OutgoingMessage {
  const { body } = delivery;
  const originals = Object.entries(delivery.attributes).filter(
    ([name]) => !isTidegateAttribute(name),
  );
  const attributes = { ...Object.fromEntries(originals), ...failure?.attributes };
  const marked = { ...attributes, [REDRIVEN_ATTRIBUTE]: redriveMark(failure?.transport_key) };
  const markFits =
    Object.keys(marked).length <= ATTRIBUTES_MAX &&
    messageBytes(body, marked) <= to.limits.messageBytesMax;
  return {
    body,
    attributes: markFits ? marked : attributes,
    groupId: to.fifo ? (delivery.groupId ?? records[0]?.key ?? delivery.messageId) : null,
    dedupId: to.fifo ? to.dedupId : null,
  };
}

export function objectUrl(object: { readonly bucket: string; readonly key: string }): string {
  return `s3://${object.bucket}/${object.key}`;
}
