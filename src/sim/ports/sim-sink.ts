// Sim sinks: both kinds of sink (ports/sink.ts) over one effect table. The transactional sink turns
// effects into writes that the ledger applies within a commit. The idempotent sink is a separate
// service, fenced as K2 requires.

import type { SinkWrite } from "../../core/sink-write.ts";
import { epochMs } from "../../core/units.ts";
import type { RecordKey } from "../../ports/record.ts";
import type { Effect, EffectOrigin, IdempotentSink, TransactionalSink } from "../../ports/sink.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { AppliedEffect, EffectTable } from "./effect-table.ts";
import type { Service } from "./network.ts";
import { createCaller, type SimPorts } from "./sim-ports.ts";

const nothing = async () => {};

export function createSimTransactionalSink(): TransactionalSink {
  return {
    mode: "transactional",
    dialect: "sqlite",
    prepare: nothing,
    plan: (effects, origin) => effects.map((effect) => writeOf(effect, origin)),
    close: nothing,
  };
}

function writeOf(effect: Effect, { object, eventTime }: EffectOrigin): SinkWrite {
  const params = [object?.key ?? null, object?.sequencer ?? null, String(eventTime)];
  return { statement: textOf(effect), params };
}

/** The effect of a write that the transactional sink planned. */
export function effectOfWrite(
  write: SinkWrite,
  of: { readonly name: string; readonly recordKey: RecordKey; readonly fence: number },
): AppliedEffect {
  const [object = null, sequencer = null, time] = write.params as (string | null)[];
  return { ...of, value: write.statement, object, sequencer, eventTime: epochMs(Number(time)) };
}

export function createSimIdempotentSink(
  ports: SimPorts,
  process: SimProcess,
  table: EffectTable,
  service: Service,
): IdempotentSink {
  const call = createCaller(ports, process, service, "TG_SINK_UNAVAILABLE");
  return {
    mode: "idempotent",
    prepare: nothing,
    apply: (effects, origin) =>
      call("apply", async () => {
        const { key, fence, object, eventTime } = origin;
        for (const effect of effects) {
          table.apply(process.name, {
            name: ports.names.ofKey(key),
            recordKey: key,
            eventTime,
            fence,
            value: textOf(effect),
            object: object?.key ?? null,
            sequencer: object?.sequencer ?? null,
          });
        }
      }),
    close: nothing,
  };
}

function textOf(effect: Effect): string {
  return effect.kind === "custom" ? String(effect.value) : JSON.stringify(effect);
}
