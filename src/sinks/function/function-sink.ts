// Function sink: a user's function as an idempotent sink (K2 of ports/sink.ts).

import { TidegateError } from "../../core/errors.ts";
import type { Effect, IdempotentSink, SinkFunction } from "../../ports/sink.ts";

/** Calls `write` with the effects of each record, its key and its fence. */
export function createFunctionSink(write: SinkFunction): IdempotentSink {
  let closed = false;
  return {
    mode: "idempotent",
    async prepare() {},
    async apply(effects, { key, fence, object }, signal) {
      if (closed) throw new TidegateError("TG_CLOSED", "the sink is closed");
      if (effects.length === 0) return; // Only table sinks take back rows of earlier versions.
      const about = object === null ? null : { bucket: object.bucket, key: object.key };
      await write(effects.map(emitted), { key, fence, object: about, signal });
    },
    async close() {
      closed = true;
    },
  };
}

/** The emitted value itself; upserts and deletes stay effects. */
function emitted(effect: Effect): unknown {
  return effect.kind === "custom" ? effect.value : effect;
}
