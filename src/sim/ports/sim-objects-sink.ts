// Sim objects sink: the production objects sink over a bucket with the conditions of S3, as a
// separate service. Every look and every write is a faulty call.
//   J1. Each attempt writes other bytes, so that ETags differ and the bucket's conditions decide. A
//       handler whose output differs between attempts is the harder case (O5 of objects-sink.ts).

import type { Effect, IdempotentSink } from "../../ports/sink.ts";
import { createFunctionSink } from "../../sinks/function/function-sink.ts";
import { createObjectsSink, STAMP } from "../../sinks/objects/objects-sink.ts";
import {
  createMemoryObjectWriter,
  type MemoryObjectWriter,
} from "../../stores/memory/object-writer.ts";
import type { History } from "../history.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { RecordNames } from "../record-names.ts";
import type { Service } from "./network.ts";
import { createCaller, type SimPorts } from "./sim-ports.ts";

const BUCKET = "results";

/** The bucket of a world; adds every stored object to the history. */
export class SimResults {
  readonly writer: MemoryObjectWriter;
  /** The process whose call is being carried out. */
  actor = "";

  constructor(history: History, names: RecordNames) {
    this.writer = createMemoryObjectWriter(({ bytes, metadata }) => {
      const fence = Number(metadata[STAMP.fence]);
      const [value = ""] = new TextDecoder().decode(bytes).split("\n");
      const name = names.ofKey(metadata[STAMP.record] ?? "");
      history.add(this.actor, {
        kind: "effect",
        sink: "idempotent",
        accepted: true,
        name,
        fence,
        value,
        object: null,
        sequencer: null,
      });
    });
  }
}

export function createSimObjectsSink(
  ports: SimPorts,
  process: SimProcess,
  results: SimResults,
  service: Service,
): IdempotentSink {
  const call = createCaller(ports, process, service, "TG_SINK_UNAVAILABLE");
  const { writer } = results;
  const sink = createFunctionSink(
    createObjectsSink(
      {
        look: (...location) => call("look", () => writer.look(...location)),
        write: (...object) =>
          call("write", () => {
            results.actor = process.name;
            return writer.write(...object);
          }),
      },
      { bucket: BUCKET },
    ),
  );
  return {
    ...sink,
    apply(effects, origin, signal) {
      const objects = effects.map((effect, at): Effect => {
        const value = { key: `${origin.key}/${at}`, body: `${textOf(effect)}\n${origin.fence}` }; // J1
        return { kind: "custom", value };
      });
      return sink.apply(objects, origin, signal);
    },
  };
}

function textOf(effect: Effect): string {
  return effect.kind === "custom" ? String(effect.value) : JSON.stringify(effect);
}
