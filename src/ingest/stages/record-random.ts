// Record random: the time and the randomness that a handler gets from its context.
//   Q1. The time is the event time that the ledger recorded for the record. Random values are
//       derived from the pipeline's name and seed and from the record's idempotency key. So every
//       attempt, redrive and replay of a record gets the same values, in every process.
//   Q2. Fractions and UUIDs are separate streams: a call of one does not shift the other.
//   Q3. The n-th call of an attempt gets the n-th value, whatever other records draw.

import { canonicalJson } from "../../core/encoding/canonical-json.ts";
import { deterministicUuid } from "../../core/encoding/uuid.ts";
import { createSeededRandom, type SeededRandom } from "../../core/seeded-random.ts";
import type { EpochMs } from "../../core/units.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import type { HandlerContext } from "../spec/pipeline-spec.ts";

/** The part of a handler's context for one attempt at a record. */
export function recordRandom(
  { name, frozen: { seed } }: Pick<Pipeline, "name" | "frozen">,
  record: { readonly identity: string; readonly eventTime: EpochMs },
): Pick<HandlerContext, "now" | "random" | "uuid"> {
  const { identity, eventTime } = record;
  const path = (...more: readonly (string | number)[]) =>
    canonicalJson([name, seed, identity.toWellFormed(), ...more]);
  let fractions: SeededRandom | null = null;
  let uuids = 0;
  return {
    now: () => eventTime, // Q1
    random() {
      fractions ??= createSeededRandom(path("random"));
      return fractions.fraction();
    },
    uuid() {
      uuids += 1;
      return deterministicUuid(eventTime, path("uuid", uuids)); // Q2, Q3
    },
  };
}
