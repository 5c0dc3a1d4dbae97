// Effect table: the database of a simulated world, as its sink sees it. It records every effect in
// the history and stores the newest state.

import type { History } from "../history.ts";

export interface AppliedEffect {
  readonly name: string;
  readonly fence: number;
  readonly value: string;
  readonly object: string | null;
  readonly sequencer: string | null;
}

export interface EffectTable {
  /** Writes an effect that is part of the ledger's transaction, unconditionally. */
  write(actor: string, effect: AppliedEffect): void;
  /** Applies an effect of an idempotent sink; ignores one that is older than the stored one. */
  apply(actor: string, effect: AppliedEffect): void;
  rows(): readonly { readonly object: string; readonly sequencer: string }[];
}

export function createEffectTable(history: History): EffectTable {
  const fences = new Map<string, number>();
  const sequencers = new Map<string, string>();

  function add(actor: string, effect: AppliedEffect, sink: "transactional" | "idempotent") {
    const { name, fence, object, sequencer } = effect;
    const newestFence = fences.get(name) ?? Number.NEGATIVE_INFINITY;
    const newest = object === null ? undefined : sequencers.get(object);
    const older = newest !== undefined && sequencer !== null && sequencer < newest;
    const accepted = sink === "transactional" || (fence >= newestFence && !older);
    history.add(actor, { kind: "effect", sink, accepted, ...effect });
    if (!accepted) return;
    fences.set(name, fence);
    if (object !== null && sequencer !== null) sequencers.set(object, sequencer);
  }

  return {
    write: (actor, effect) => add(actor, effect, "transactional"),
    apply: (actor, effect) => add(actor, effect, "idempotent"),
    rows: () => [...sequencers].map(([object, sequencer]) => ({ object, sequencer })),
  };
}
