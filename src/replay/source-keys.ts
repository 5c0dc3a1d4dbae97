// Source keys: a sink that sees the keys of the source generation. A record has another key in the
// generation of a replay, and sinks decide by keys between events of the same millisecond.

import type { RecordKey } from "../ports/record.ts";
import type { EffectOrigin, Sink, StagedRowsRequest } from "../ports/sink.ts";

export function withSourceKeys(sink: Sink, sourceKeyOf: (key: RecordKey) => RecordKey): Sink {
  const originOf = <O extends EffectOrigin>(origin: O): O => {
    const { object } = origin;
    const addsTo = object?.addsTo;
    return {
      ...origin,
      key: sourceKeyOf(origin.key),
      ...(addsTo !== undefined && { object: { ...object, addsTo: sourceKeyOf(addsTo) } }),
    };
  };
  if (sink.mode === "transactional") {
    const { stage } = sink;
    return {
      ...sink,
      plan: (effects, origin) => sink.plan(effects, originOf(origin)),
      ...(stage && {
        stage: (request, store) => {
          const inner = stage(request, store);
          return { ...inner, merge: (origin) => inner.merge(originOf(origin)) };
        },
      }),
    };
  }
  const { stage } = sink;
  return {
    ...sink,
    apply: (effects, origin, signal) => sink.apply(effects, originOf(origin), signal),
    ...(stage && {
      stage: (request: StagedRowsRequest) => {
        const inner = stage(request);
        const apply: typeof inner.apply = (origin, signal) => inner.apply(originOf(origin), signal);
        return { ...inner, apply };
      },
    }),
  };
}
