// Late: what happens to a record that is too late, by the policy of its pipeline.
//   L1. "hold": the ledger parks the record and stores its message in one step, and only then the
//       delivery is acknowledged. A crash before that leaves the delivery, which is held again.
//   L2. { queue }: the ledger parks the record, then the message is sent, then the note says so,
//       and only then the delivery is acknowledged. A crash in between sends it again, under the
//       same key and, on a FIFO queue, the same deduplication id.
//   L3. A queue that does not exist, refuses or does not answer loses nothing: the delivery returns
//       with a backoff, and one sentence says why. It does not count as an attempt.
//   L4. The decision is the one that the ledger recorded first. A record that was released, or that
//       arrives from the late queue itself, is processed in that lane and never routed again.
//   L5. A duplicate of a held record is acknowledged: the ledger has its message.

import { sha256Hex } from "../../core/encoding/hash.ts";
import { TidegateError } from "../../core/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { QueueSender, SendOutcome } from "../../ports/queue.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { Random } from "../../ports/random.ts";
import type { Fence, LaneDecision, LedgerScope } from "../../ports/record.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import {
  isTidegateAttribute,
  REDRIVEN_ATTRIBUTE,
  redriveMark,
} from "../dead-letters/dead-letter.ts";
import {
  findHeld,
  HELD_FAILURE,
  type HeldNote,
  heldNote,
  messageFields,
  messageParts,
  partNotes,
} from "../late/held-note.ts";
import { wholeMessageOf } from "../policy/error-text.ts";
import { retryDelayMs } from "../policy/retry.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { CONSUMER_METRICS as METRICS } from "../telemetry/metrics.ts";
import { logFieldsOf } from "../telemetry/record-log-fields.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import type { Claim } from "./claim.ts";
import type { WorkRecord } from "./decode.ts";
import { LEASE_LOST, NOT_RUN, type RecordOutcome } from "./outcome.ts";

export interface LateStage {
  /** Whether a record of that lane needs a claim, because it may not be handled now. */
  routes(decision: LaneDecision): boolean;
  /** Holds or sends a claimed record; null if it is processed now (L4). */
  route(
    record: WorkRecord,
    claim: Claim,
    inFlight: InFlightDelivery,
    /** Called before the ledger ends the claim. */
    beforePark: () => void,
  ): Promise<RecordOutcome | null>;
  /** A delivery of a record that is held (L2, L5). */
  again(record: WorkRecord, fence: Fence, inFlight: InFlightDelivery): Promise<RecordOutcome>;
}

export interface LatePorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly telemetry: Telemetry;
  readonly masked: RecordMask;
  /** The queue of `eventTime.late`; null without one. */
  readonly lateQueue: QueueSender | null;
}

export interface LateOptions {
  readonly pipeline: Pipeline;
  readonly scope: LedgerScope;
  readonly owner: string;
  readonly runId: string;
  readonly queue: { readonly name: string };
}

export function createLateStage(ports: LatePorts, options: LateOptions): LateStage {
  const { ledger } = ports;
  const { pipeline, scope, queue } = options;
  const isLateQueue = ports.lateQueue !== null && ports.lateQueue.name === queue.name;
  const isActive = pipeline.eventTime.late !== "process" && !isLateQueue; // L4
  const send = createSends(ports, options);

  return {
    routes: ({ lane }) => isActive && lane === "too-late",
    async route(record, claim, inFlight, beforePark) {
      if (!isActive || claim.input.lane.lane !== "too-late") return null;
      const previous = await findHeld(ledger, scope, record.key);
      if (previous !== null && previous.held.released_at !== null) return null; // L4
      beforePark();
      const parked = await park(ports, options, { record, claim, inFlight });
      if (parked === null) return LEASE_LOST;
      const { note, fence } = parked;
      if (note.to === null) return { kind: "done", how: "held" }; // L1
      return send(record, note, fence, inFlight); // L2
    },
    async again(record, fence, inFlight) {
      const stored = await findHeld(ledger, scope, record.key);
      if (isLateQueue || stored === null || stored.held.released_at !== null) {
        await ledger.reopen(scope, [record.key]); // L4
        return NOT_RUN;
      }
      const { held } = stored;
      if (held.to === null || held.sent_at !== null) return { kind: "done", how: "held-before" };
      return send(record, held, fence, inFlight); // L2
    },
  };
}

interface Routed {
  readonly record: WorkRecord;
  readonly claim: Claim;
  readonly inFlight: InFlightDelivery;
}

/** Parks the record together with its note; null if the lease was lost. */
async function park(
  { clock, ledger, telemetry, masked }: LatePorts,
  { pipeline, scope, owner, runId, queue }: LateOptions,
  { record, claim, inFlight }: Routed,
): Promise<{ readonly note: HeldNote; readonly fence: Fence } | null> {
  const now = clock.now();
  const to = typeof pipeline.eventTime.late === "object" ? pipeline.eventTime.late.queue : null;
  const parts = to === null ? messageParts(originalOf(inFlight.delivery)) : [];
  const { lane, watermark } = claim.input.lane;
  const note: HeldNote = {
    v: 1,
    record_key: record.key,
    idempotency_key: record.identity,
    about: aboutOf(record, masked),
    event_time: claim.input.eventTime,
    lane,
    watermark,
    held_at: now,
    queue: queue.name,
    transport_key: record.transportKey ?? null,
    to,
    sent_at: null,
    released_at: null,
    ...(to === null ? messageFields(parts) : { message: null, parts: null }),
  };
  const partsToWrite = partNotes(record.key, parts, now);
  if (partsToWrite.length > 0) await ledger.addNotes(scope, partsToWrite); // N3 of held-note.ts
  const [result] = await ledger.fail(scope, [
    {
      key: record.key,
      fence: claim.fence,
      owner,
      receivedAt: inFlight.receivedAt,
      input: claim.input,
      permanent: true,
      failure: HELD_FAILURE,
      note: heldNote(note, now),
    },
  ]);
  if (result === undefined || result.kind === "fenced") return null;
  telemetry.count(METRICS.lateRouted.name, 1, {
    stream: pipeline.name,
    to: to === null ? "ledger" : "queue",
  });
  const what = to === null ? "held in the ledger" : `to be sent to ${to}`;
  telemetry.log("warn", `too late: ${what}`, logFieldsOf(record, inFlight, runId, { masked }));
  return { note, fence: result.fence };
}

/** The delivery as its producer sent it: without the attributes that Tidegate adds. */
function originalOf({ body, attributes, groupId, messageId }: Delivery) {
  const own = Object.entries(attributes).filter(([name]) => !isTidegateAttribute(name));
  return { body, attributes: Object.fromEntries(own), groupId, messageId };
}

function aboutOf(record: WorkRecord, masked: RecordMask): string | null {
  const secrets = masked.secretsOf(record);
  const object = masked.objectOf(record, secrets);
  if (object !== null) return `s3://${object.bucket}/${object.key}`;
  return masked.businessKeyOf(record, secrets);
}

type SendLate = (
  record: WorkRecord,
  note: HeldNote,
  fence: Fence,
  inFlight: InFlightDelivery,
) => Promise<RecordOutcome>;

function createSends(ports: LatePorts, { pipeline, scope, runId }: LateOptions): SendLate {
  const { clock, random, ledger, telemetry, masked, lateQueue } = ports;
  return async (record, note, fence, inFlight) => {
    const { delivery } = inFlight;
    const sent = await sendTo(lateQueue, note, { ...originalOf(delivery), fence });
    if (sent.kind === "refused") {
      const delayMs = retryDelayMs(pipeline.retry, delivery.receiveCount, random.fraction());
      const said = `the late queue ${note.to} did not take a record: ${sent.reason}`;
      const reason = masked.begin(record).hide(said);
      const fields = logFieldsOf(record, inFlight, runId, { masked });
      telemetry.log("warn", reason, { ...fields, delay_ms: delayMs });
      return { kind: "later", delayMs, why: "unavailable", blames: "record", reason }; // L3
    }
    const at = clock.now();
    await ledger.addNotes(scope, [heldNote({ ...note, sent_at: at }, at)]);
    return { kind: "done", how: "late-sent" };
  };
}

async function sendTo(
  queue: QueueSender | null,
  note: HeldNote,
  message: ReturnType<typeof originalOf> & { readonly fence: Fence },
): Promise<{ readonly kind: "sent" } | { readonly kind: "refused"; readonly reason: string }> {
  if (queue === null) return { kind: "refused", reason: "it is not open" };
  const { record_key: key, transport_key: transportKey } = note;
  const { body, attributes, groupId, fence } = message;
  const mark = transportKey === null ? {} : { [REDRIVEN_ATTRIBUTE]: redriveMark(transportKey) };
  const outgoing = {
    body,
    attributes: { ...attributes, ...mark },
    groupId: queue.fifo ? (groupId ?? key) : null,
    dedupId: queue.fifo ? sha256Hex(`late ${key} ${fence}`) : null, // L2
  };
  try {
    const [outcome]: readonly (SendOutcome | undefined)[] = await queue.sendBatch([outgoing]);
    if (outcome?.kind === "sent") return { kind: "sent" };
    const reason = outcome === undefined ? "no answer" : `${outcome.code}: ${outcome.message}`;
    return { kind: "refused", reason };
  } catch (error) {
    const reason = error instanceof TidegateError ? error.message : wholeMessageOf(error);
    return { kind: "refused", reason };
  }
}
