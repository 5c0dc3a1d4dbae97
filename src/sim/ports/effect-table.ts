// Effect table: the database of a simulated world, as its sink sees it. It remembers every effect,
// and what the last one left behind.

import type { History } from "../history.ts";

export interface AppliedEffect {
  readonly name: string;
  readonly fence: number;
  readonly value: string;
  readonly object: string | null;
  readonly sequencer: string | null;
}

export interface EffectTable {
  /** An effect that the ledger's own transaction carries: it does as it is told. */
  write(actor: string, effect: AppliedEffect): void;
  /** An effect that comes by itself: an older one than is known is left out. */
  apply(actor: string, effect: AppliedEffect): void;
  rows(): readonly { readonly object: string; readonly sequencer: string }[];
}

export function createEffectTable(history: History): EffectTable {
  const fences = new Map<string, number>();
  const sequencers = new Map<string, string>();

  function take(actor: string, effect: AppliedEffect, sink: "transactional" | "idempotent") {
    const { name, fence, object, sequencer } = effect;
    const known = fences.get(name) ?? Number.NEGATIVE_INFINITY;
    const newest = object === null ? undefined : sequencers.get(object);
    const older = newest !== undefined && sequencer !== null && sequencer < newest;
    const accepted = sink === "transactional" || (fence >= known && !older);
    history.add(actor, { kind: "effect", sink, accepted, ...effect });
    if (!accepted) return;
    fences.set(name, fence);
    if (object !== null && sequencer !== null) sequencers.set(object, sequencer);
  }

  return {
    write: (actor, effect) => take(actor, effect, "transactional"),
    apply: (actor, effect) => take(actor, effect, "idempotent"),
    rows: () => [...sequencers].map(([object, sequencer]) => ({ object, sequencer })),
  };
}
