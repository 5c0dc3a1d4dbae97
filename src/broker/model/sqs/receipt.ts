// Receipt: stores the effect of a receive or a visibility change on a message.

import type { EpochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ModelStep } from "../step.ts";

export function emitReceipt(state: BrokerState, step: ModelStep, slot: number): void {
  const { slab } = state;
  step.emit({
    kind: "update-receipt",
    seq: slab.seq.get(slot),
    dueAt: slab.dueAt.get(slot) as EpochMs,
    receivedAt: slab.receivedAt.get(slot) as EpochMs,
    firstReceivedAt: slab.firstReceivedAt.get(slot) as EpochMs,
    receiveCount: slab.receiveCount.get(slot),
  });
}
