// Make dossier: builds the failure report of a record when it is dead-lettered.

import { sha256Hex } from "../../core/encoding/hash.ts";
import type { SecretValues } from "../../core/encoding/secrets.ts";
import { msBetween } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Verdict } from "../policy/error-class.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import { objectDigest } from "../running/tried-note.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import type { Claim } from "../stages/claim.ts";
import type { WorkRecord } from "../stages/decode.ts";
import { carriesPayload, GOVERNANCE_CLASS } from "../stages/govern.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import type { Dossier } from "./dossier.ts";

/** A failed attempt. All texts are masked. */
export interface Failed {
  readonly verdict: Verdict;
  readonly fingerprint: string;
  readonly message: string;
  /** The group id of the message. Its sender chose it, so it is masked too. */
  readonly groupId: string | null;
  readonly stack: string | null;
  /** The values that were masked in the texts above. */
  readonly secrets: SecretValues;
}

export async function makeDossier(
  ports: { readonly clock: Clock; readonly ledger: Ledger; readonly masked: RecordMask },
  about: {
    readonly scope: LedgerScope;
    readonly queue: { readonly name: string };
    readonly runId: string;
    readonly pipeline: Pick<Pipeline, "source">;
  },
  attempt: {
    readonly record: WorkRecord;
    readonly claim: Claim;
    readonly failed: Failed;
    readonly inFlight: InFlightDelivery;
  },
): Promise<Dossier> {
  const { record, claim, failed, inFlight } = attempt;
  const { delivery, trace } = inFlight;
  const at = ports.clock.now();
  const view = await ports.ledger.show(about.scope, record.key);
  const first = view?.entries.find(({ status }) => status === "failed");
  const { object } = record;
  const isOwn = about.pipeline.source.own !== null;
  const withheld = failed.verdict.errorClass === GOVERNANCE_CLASS && carriesPayload(record);
  return {
    pipeline: about.scope.pipeline,
    generation: about.scope.generation,
    record_key: record.key,
    idempotency_key: record.identity,
    business_key: ports.masked.businessKeyOf(record, failed.secrets),
    queue: about.queue.name,
    message_id: delivery.messageId,
    group_id: failed.groupId,
    object: ports.masked.objectOf(record, failed.secrets),
    object_digest: object === null ? null : objectDigest(object.key),
    body_digest: isOwn ? sha256Hex(withheld ? record.key : delivery.body) : null,
    error_class: failed.verdict.errorClass,
    fingerprint: failed.fingerprint,
    message: failed.message,
    stack: failed.stack,
    attempts: claim.attempt,
    receive_count: delivery.receiveCount,
    event_time: record.eventTime,
    first_failed_at: first?.at ?? at,
    last_failed_at: at,
    took_ms: msBetween(claim.startedAt, at),
    run_id: about.runId,
    trace_id: trace.traceId,
    ...(withheld ? { payload: null, withheld } : { payload: ports.masked.payloadOf(record) }),
    dead_letter: null,
  };
}
