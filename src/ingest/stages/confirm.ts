// Confirm: asks the bucket whether the state of a record is the current one, for records whose
// order only the bucket knows (O2 of ledger/object-order.ts).
//   F1. The bucket is asked after the claim, never before: then the state that the ledger had
//       applied by the time of the claim is not newer than the answer.
//   F2. An answer names the row that the claim saw. The ledger rejects it for any other.
//   F3. An object that may not be read may exist: the record is retried, and nothing is decided.
//   F4. A caller that knows the order of versions decides for listed ones, by the row that the
//       claim saw. If the row changed since, the commit is not confirmed, and is claimed again.

import { unreachable } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import {
  normalizeVersionId,
  objectStateOf,
  REMOVED_STATE,
} from "../../core/events/object-identity.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ObjectSource, OpenedObject } from "../../ports/objects/object-source.ts";
import type { Confirmation, LedgerScope } from "../../ports/record.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import { beginAttempt, DeadlinePassed } from "./attempt.ts";
import type { Claim } from "./claim.ts";
import type { Deadlines } from "./deadlines.ts";
import type { WorkRecord } from "./decode.ts";

/** Null if the claim does not ask for it. Rejects if the bucket does not answer. */
export type ConfirmStage = (
  record: WorkRecord,
  claim: Claim,
  inFlight: InFlightDelivery,
) => Promise<Confirmation | null>;

/** The state that a pipeline applied last; a null state is not known. */
export type LastApplied =
  | { readonly kind: "none" }
  | { readonly kind: "applied"; readonly state: string | null };

/** Whether a listed state is newer than the applied one; null: the bucket has to be asked. */
export type VersionOrder = (event: ObjectEvent, applied: LastApplied) => boolean | null;

export interface ConfirmPorts {
  readonly objects: ObjectSource | null;
  readonly deadlines: Deadlines;
  readonly ledger: Ledger;
}

export interface ConfirmOptions {
  readonly scope: LedgerScope;
  /** F4; null: the bucket is asked. */
  readonly isNewer: VersionOrder | null;
}

export function createConfirmStage(ports: ConfirmPorts, options: ConfirmOptions): ConfirmStage {
  const tooLong = () => new DeadlinePassed("the bucket did not answer in time");
  const { scope, isNewer } = options;
  return async ({ object, content }, { confirm: basis }, inFlight) => {
    if (basis === undefined || object === null || content.kind !== "object") return null;
    const { event } = content;
    if (isNewer !== null && object.listed === true) {
      const row = await ports.ledger.showObject(scope, object.bucket, object.key);
      if ((row?.sequencer ?? "") !== basis) return { basis, isCurrent: false }; // F4
      const state = row?.applied?.state ?? null;
      const newer = isNewer(event, row ? { kind: "applied", state } : { kind: "none" });
      if (newer !== null) return { basis, isCurrent: newer };
    }
    const attempt = beginAttempt(inFlight, ports.deadlines, tooLong);
    try {
      let current: string | null = null;
      await attempt.run(async () => {
        current = await currentState(ports.objects, event, attempt.signal);
      });
      return { basis, isCurrent: object.state === undefined || object.state === current };
    } finally {
      attempt.close([]);
    }
  };
}

/** The name of the state that the object has now, in the words of `objectStateOf`. */
async function currentState(
  objects: ObjectSource | null,
  event: ObjectEvent,
  signal: AbortSignal,
): Promise<string | null> {
  const { bucket, key } = event;
  if (objects === null) {
    throw new TidegateError("TG_CONFIG_INVALID", "no bucket is configured to ask for objects");
  }
  const pin = { bucket, key, versionId: null, etag: null, expectedBytes: event.size };
  const opened: OpenedObject = await objects.open(pin, signal);
  switch (opened.kind) {
    case "opened": {
      const version_id = normalizeVersionId(opened.versionId ?? "");
      const { etag } = opened;
      const { size } = opened.bytes;
      return objectStateOf({ ...event, kind: "created", version_id, etag, size });
    }
    case "missing":
      return REMOVED_STATE;
    case "replaced":
    case "forbidden": {
      const reason = opened.kind === "forbidden" ? opened.reason : "it changed meanwhile";
      throw new TidegateError("TG_OBJECTS_UNAVAILABLE", `s3://${bucket}/${key}: ${reason}`); // F3
    }
    default:
      return unreachable(opened);
  }
}
