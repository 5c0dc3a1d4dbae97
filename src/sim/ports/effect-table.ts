// Effect table: the database of a simulated world, as its sink sees it. It records every effect in
// the history and stores the newest state.
//   E1. It has a register as tables do: of each object, the record that wrote it last.

import type { EpochMs } from "../../core/units.ts";
import type { EffectLister, ListedEffect } from "../../ports/effect-lister.ts";
import type { RecordKey } from "../../ports/record.ts";
import type { History } from "../history.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { Service } from "./network.ts";
import { createCaller, type SimPorts } from "./sim-ports.ts";

export interface AppliedEffect {
  readonly name: string;
  readonly recordKey: RecordKey;
  readonly eventTime: EpochMs;
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
  /** The register, in the order of keys (E1). */
  effects(): readonly ListedEffect[];
}

const PAGE_MAX = 5;

export function createEffectTable(history: History): EffectTable {
  const fences = new Map<string, number>();
  const sequencers = new Map<string, string>();
  const register = new Map<string, ListedEffect>();

  function add(actor: string, effect: AppliedEffect, sink: "transactional" | "idempotent") {
    const { recordKey, eventTime, ...facts } = effect;
    const { name, fence, object, sequencer } = facts;
    const newestFence = fences.get(name) ?? Number.NEGATIVE_INFINITY;
    const newest = object === null ? undefined : sequencers.get(object);
    const older = newest !== undefined && sequencer !== null && sequencer < newest;
    const accepted = sink === "transactional" || (fence >= newestFence && !older);
    history.add(actor, { kind: "effect", sink, accepted, ...facts });
    if (!accepted) return;
    fences.set(name, fence);
    if (object === null) return;
    if (sequencer !== null) sequencers.set(object, sequencer);
    register.set(object, { key: object, recordKey, eventTime, fence }); // E1
  }

  return {
    write: (actor, effect) => add(actor, effect, "transactional"),
    apply: (actor, effect) => add(actor, effect, "idempotent"),
    rows: () => [...sequencers].map(([object, sequencer]) => ({ object, sequencer })),
    effects: () => [...register.values()].sort((one, two) => (one.key < two.key ? -1 : 1)),
  };
}

/** The register, in small pages, over the faulty network. */
export function createSimEffects(
  ports: SimPorts,
  process: SimProcess,
  table: EffectTable,
  service: Service,
): EffectLister {
  const call = createCaller(ports, process, service, "TG_SINK_UNAVAILABLE");
  return {
    name: "effects",
    list: ({ prefix, after }) =>
      call("listEffects", async () => {
        const all = table
          .effects()
          .filter(({ key }) => key.startsWith(prefix) && (after === null || key > after));
        const effects = all.slice(0, PAGE_MAX);
        return { effects, next: all.length > PAGE_MAX ? (effects.at(-1)?.key ?? null) : null };
      }),
  };
}
