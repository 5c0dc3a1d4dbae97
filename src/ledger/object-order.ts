// Object order: where an event belongs among the events of its object, and what its commit leaves.
// Events of S3 have a sequencer. A state that a listing found has none, and neither source knows
// the other's record key: they meet here, in the object's row, which every commit compares and
// writes.
//   O1. A state that was applied last is not applied again by the other source: neither a listed
//       one after its event, nor an event after its listing.
//   O2. The place of a listed write is a lower bound (Q3 of sequencer.ts): an event with a greater
//       sequencer may be older. Whether it is newer only the bucket knows. So it is applied only if
//       it was the bucket's current state after its claim, and its object's row has not changed
//       since then. The applied write was in the bucket before the claim, hence it is not newer.
//   O3. The same holds for a listed state. One that is not current any more is never applied.
//   O4. A version belongs to one write. An event of a version that is applied as current, or that
//       the listing had applied, ends the doubt. Without versions the same bytes may come back, and
//       the doubt remains: it costs a question to the bucket for each later event, nothing else.

import { isVersionState } from "../core/events/object-identity.ts";
import { compareSequencers, sequencerAfter } from "../core/events/sequencer.ts";
import type { EpochMs } from "../core/units.ts";
import type { AppliedState, ObjectRef, ObjectState, RecordKey } from "../ports/record.ts";

export type ObjectOrder =
  /** Neither sequencer nor listing: nothing is compared. */
  | { readonly kind: "unordered" }
  | { readonly kind: "older"; readonly appliedSequencer: string }
  | { readonly kind: "same" | "newer" }
  /** The other source applied this state (O1); `object` is the new row, null if it stays. */
  | {
      readonly kind: "applied";
      readonly appliedSequencer: string;
      readonly object: ObjectState | null;
    }
  /** Only the bucket knows (O2, O3); `basis` identifies the row that the answer is good for. */
  | { readonly kind: "unknown"; readonly basis: string };

const UNORDERED: ObjectOrder = { kind: "unordered" };

/** Where an event belongs; `row` is the object's live state, and null if there is none. */
export function objectOrder(
  ref: ObjectRef | null,
  row: ObjectState | null,
  { key, expiresAt }: { readonly key: RecordKey; readonly expiresAt: EpochMs },
): ObjectOrder {
  if (ref === null) return UNORDERED;
  const { sequencer, state } = ref;
  const isApplied = state !== undefined && row?.applied?.state === state;
  if (ref.listed === true && state !== undefined) {
    if (row !== null && isApplied) {
      return { kind: "applied", appliedSequencer: row.sequencer, object: null }; // O1
    }
    return { kind: "unknown", basis: row?.sequencer ?? "" }; // O3
  }
  if (sequencer === null) return UNORDERED;
  if (row === null) return { kind: "newer" };
  const order = compareSequencers(sequencer, row.sequencer);
  const { sequencer: appliedSequencer } = row;
  if (order < 0) return { kind: "older", appliedSequencer };
  const listed = row.applied?.listed === true;
  if (isApplied && row.appliedKey !== key && (listed || order === 0)) {
    const applied: AppliedState = { state, listed: !isVersionState(state) }; // O4
    const object = order === 0 ? null : { ...row, sequencer, applied, expiresAt };
    return { kind: "applied", appliedSequencer, object }; // O1
  }
  if (listed) return { kind: "unknown", basis: appliedSequencer }; // O2
  return { kind: order === 0 ? "same" : "newer" };
}

/** The object's row after a commit of the event; null if the commit does not concern it. */
export function appliedObject(
  ref: ObjectRef | null,
  order: ObjectOrder,
  { key, expiresAt }: { readonly key: RecordKey; readonly expiresAt: EpochMs },
): ObjectState | null {
  if (ref === null || order.kind === "unordered") return null;
  const { state } = ref;
  const isListed = ref.listed === true;
  const basis = order.kind === "unknown" ? order.basis : "";
  const sequencer = isListed ? sequencerAfter(basis) : ref.sequencer;
  if (sequencer === null) return null;
  const listed = isListed || (order.kind === "unknown" && !isVersionState(state ?? "")); // O4
  return {
    sequencer,
    appliedKey: key,
    expiresAt,
    ...(state !== undefined && { applied: { state, listed } }),
  };
}

const LISTED = "L";
const EVENT = "E";

/** The applied state as stores save it; null if it is not known. */
export function toAppliedText({ applied }: ObjectState): string | null {
  if (applied === undefined) return null;
  return `${applied.listed ? LISTED : EVENT}${applied.state}`;
}

export function fromAppliedText(text: string | null): { applied?: AppliedState } {
  if (text === null) return {};
  return { applied: { state: text.slice(1), listed: text.startsWith(LISTED) } };
}
