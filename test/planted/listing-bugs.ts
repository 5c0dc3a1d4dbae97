// Planted bugs of backfills: each breaks one rule of ledger/object-order.ts, and the simulator's
// checkers must notice.

import type { Ledger } from "../../src/ports/ledger.ts";
import type { ObjectRef } from "../../src/ports/record.ts";
import type { HistoryEvent } from "../../src/sim/history.ts";
import type { WorldParts } from "../../src/sim/world-parts.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";

/** Worlds in which notifications are late and backfills find the objects first. */
export const BACKFILL_TOPOLOGY = {
  contents: "objects",
  fifo: false,
  own: false,
  objectsSink: false,
  batches: 0,
  events: 60,
  groups: 6,
  backfills: 8,
  delayed: 0.4,
  lateEvents: 0,
  late: "process",
  refused: 0,
} as const;

export function isListedCommit(event: HistoryEvent): boolean {
  return event.kind === "committed" && !event.superseded && event.name.startsWith("listed");
}

export interface ListingFlaw {
  readonly parts: Partial<WorldParts>;
  /** Checkers, one of which must report it. */
  readonly symptoms: readonly string[];
}

type Change = (ref: ObjectRef) => ObjectRef;

/** A ledger that sees other objects than its callers pass. */
function withRefs(change: Change, onCommit: Change = change): Partial<WorldParts> {
  return {
    createLedger(ports, options): Ledger {
      const ledger = createMemoryLedger(ports, options);
      const alter = <T extends { readonly object?: ObjectRef }>(by: Change, all: readonly T[]) =>
        all.map((one) => (one.object === undefined ? one : { ...one, object: by(one.object) }));
      return {
        ...ledger,
        claim: (scope, requests, lease) => ledger.claim(scope, alter(change, requests), lease),
        commit: (scope, commits) => ledger.commit(scope, alter(onCommit, commits)),
        commitDirect: (scope, commits) => ledger.commitDirect(scope, alter(onCommit, commits)),
      };
    },
  };
}

const plain = ({ bucket, key, sequencer }: ObjectRef): ObjectRef => ({ bucket, key, sequencer });

const stateless = ({ state: _, ...ref }: ObjectRef): ObjectRef => ref;

export const LISTING_FLAWS: Readonly<Record<string, ListingFlaw>> = {
  "events do not say which state they left": {
    parts: withRefs((ref) => (ref.listed === true ? ref : stateless(ref))),
    symptoms: ["listed-or-live", "last-writer-wins"],
  },
  "a listed state is committed without being ordered": {
    parts: withRefs((ref) => (ref.listed === true ? plain(ref) : ref)),
    symptoms: ["listed-or-live", "last-writer-wins"],
  },
  "whatever the bucket says counts as current": {
    parts: withRefs(
      (ref) => ref,
      (ref) =>
        ref.confirmed === undefined
          ? ref
          : { ...ref, confirmed: { ...ref.confirmed, isCurrent: true } },
    ),
    symptoms: ["listed-or-live", "effects-once", "last-writer-wins"],
  },
  "a backfill makes up sequencers that are greater than all others": {
    parts: withRefs((ref) =>
      ref.listed === true ? { ...plain(ref), sequencer: "FFFFFFFF" } : plain(ref),
    ),
    symptoms: ["listed-or-live", "last-writer-wins", "effects-once"],
  },
};
