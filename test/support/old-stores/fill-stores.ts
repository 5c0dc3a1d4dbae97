// Fill stores: a ledger record in every state, notes, a run, an object, and outbox rows in every
// state, written through the ports. `write-old-stores.ts` runs it on the stores of an earlier commit, so
// it uses only what that commit has.

import type { DurationMs } from "../../../src/core/units.ts";
import type { ClaimRequest, Ledger, NoteInput } from "../../../src/ports/ledger.ts";
import type { Outbox, OutboxEntry } from "../../../src/ports/outbox.ts";
import type { RecordKey } from "../../../src/ports/record.ts";
import type { ManualClock } from "../manual-clock.ts";
import { anyInput } from "../stores/any-input.ts";

/** Far ahead: DynamoDB Local deletes by the time of the computer. */
export const FILLED_AT = 4_000_000_000_000;
export const FILLED_SCOPE = { pipeline: "orders", generation: 0 };
export const FILLED_TARGET = "orders-events";
const LEASE = { owner: "old-worker", leaseMs: 30_000 as DurationMs };
/** The longest claim that a store believes. */
const LONG_LEASE = { owner: "old-worker", leaseMs: 43_000_000 as DurationMs };
const FAILURE = { errorClass: "schema", fingerprint: "f1", message: "amount is missing" };

export const recordKey = (name: string) => name as RecordKey;

/** An event of an object, or of a message. */
export function requestOf(name: string, clock: ManualClock, sequencer?: string): ClaimRequest {
  const input = anyInput({ eventId: name, messageId: `message-${name}`, dedupeKey: name });
  const request = { key: recordKey(name), receivedAt: clock.now(), input };
  if (sequencer === undefined) return request;
  const object = { bucket: "files", key: "in/one.csv", sequencer };
  const named = { ...object, versionId: null, etag: `etag-${sequencer}`, size: 1 };
  return { ...request, input: { ...input, kind: "object", object: named }, object };
}

export async function fillLedger(ledger: Ledger, clock: ManualClock): Promise<void> {
  const claim = async (request: ClaimRequest, lease = LEASE) => {
    const [result] = await ledger.claim(FILLED_SCOPE, [request], lease);
    if (result?.kind !== "claimed") throw new Error(`${request.key} is ${result?.kind}`);
    return { key: request.key, fence: result.fence };
  };
  const message = (name: string) => requestOf(name, clock);
  const note = (kind: NoteInput["kind"], name: string): NoteInput => {
    return { kind, name, at: clock.now(), count: 1, body: `{"about":"${name}"}` };
  };
  const held = await claim(message("committed"));
  await ledger.commit(FILLED_SCOPE, [{ ...held, digest: "d1", effects: "1 row" }]);
  const older = requestOf("superseded", clock, "0055");
  const late = await claim(older);
  const newer = requestOf("object", clock, "0066");
  const first = await claim(newer);
  const { object } = newer;
  if (object === undefined || older.object === undefined) throw new Error("no object");
  await ledger.commit(FILLED_SCOPE, [{ ...first, digest: "d2", object }]);
  await ledger.commit(FILLED_SCOPE, [{ ...late, digest: "d3", object: older.object }]);
  const direct = { owner: LEASE.owner, startedAt: clock.now(), digest: "d4" };
  await ledger.commitDirect(FILLED_SCOPE, [{ ...message("direct"), ...direct }]);
  await ledger.release(FILLED_SCOPE, [await claim(message("released"))]);
  const attempt = { owner: LEASE.owner, failure: FAILURE };
  const failing = { ...message("failed"), ...attempt, permanent: false };
  await ledger.fail(FILLED_SCOPE, [{ ...failing, ...(await claim(message("failed"))) }]);
  const parking = { ...message("parked"), ...attempt, permanent: true };
  const withNote = { ...parking, note: note("dossier", "parked") };
  await ledger.fail(FILLED_SCOPE, [{ ...withNote, ...(await claim(message("parked"))) }]);
  await claim(message("claimed"), LONG_LEASE);
  await ledger.addNotes(FILLED_SCOPE, [note("duplicates", "direct"), note("watermark", "live")]);
  await ledger.putRun(FILLED_SCOPE, {
    id: "run-1",
    kind: "live",
    startedAt: clock.now(),
    endedAt: null,
    seenAt: clock.now(),
    codeDigest: "c".repeat(64),
    configDigest: "e".repeat(64),
    environment: "{}",
    parameters: "{}",
    counts: "{}",
  });
}

export function outboxEntryOf(key: string): OutboxEntry {
  return {
    key,
    groupId: "group-1",
    dedupId: `dedup-${key}`,
    payloadDigest: "p".repeat(64),
    body: `{"key":"${key}"}`,
    attributes: { kind: "order" },
  };
}

/** Leases of the old process have run out `LEASE_MS` after FILLED_AT. */
export async function fillOutbox(outbox: Outbox): Promise<void> {
  const keys = ["pending", "sent", "done", "refused"];
  await outbox.register(FILLED_TARGET, keys.map(outboxEntryOf), LEASE);
  const sent = (key: string) => ({ key, epoch: 0, messageId: `message-${key}` });
  await outbox.markSent(FILLED_TARGET, [sent("sent"), sent("done")]);
  await outbox.markDone(FILLED_TARGET, ["done"]);
  await outbox.markRefused(FILLED_TARGET, [{ key: "refused", epoch: 0, reason: "too large" }]);
  const items = ["a", "b"].map((name) => ({ name, key: name }));
  const batch = { name: "night", id: "batch-1", itemCount: 2, digest: "b1", replace: false };
  await outbox.openBatch(FILLED_TARGET, batch);
  await outbox.addBatchItems("batch-1", items);
  await outbox.sealBatch(FILLED_TARGET, "night", "batch-1");
  await outbox.markItemsDone("batch-1", items.slice(0, 1));
}
