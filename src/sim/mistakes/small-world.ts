// Small world: what the worlds of mistakes share: few records, one consumer, and programs without a
// ledger or an outbox.

import { seconds } from "../../core/units.ts";
import type { Checker } from "../checkers/checker.ts";
import type { CallRates } from "../faults/call-faults.ts";
import { PLAIN_TOPOLOGY, type Topology } from "../topology.ts";
import type { WorldParts } from "../world-parts.ts";
import { createPlainConsumer, type PlainDeletes } from "./plain-consumer.ts";
import {
  CAREFUL_SENDING,
  createNoRelay,
  createPlainProducer,
  type PlainSending,
} from "./plain-producer.ts";

/** What differs between the world with the mistake and the one without. */
export interface MistakeSide {
  /** The setting, in words. */
  readonly setting: string;
  readonly topology?: Partial<Topology>;
  readonly parts?: Partial<WorldParts>;
}

export interface Mistake {
  /** Name of the doctor's rule. */
  readonly rule: string;
  readonly checker: Checker;
  /** What the reader of the run should look at, in one or two sentences. */
  readonly shows: string;
  readonly topology: Partial<Topology>;
  readonly rates: Partial<CallRates>;
  readonly faults?: RegExp;
  readonly broken: MistakeSide;
  readonly fixed: MistakeSide;
}

export const SMALL: Topology = {
  ...PLAIN_TOPOLOGY,
  events: 3,
  groups: 2,
  consumers: 1,
  sink: "idempotent",
  visibilityMs: seconds(30),
  burstMs: seconds(60),
};

/** A program that deletes messages at a given point. */
export const consumer = (deletes: PlainDeletes): Partial<WorldParts> => ({
  createConsumer: createPlainConsumer(deletes),
});
/** A program that sends in a given way, and a consumer that deletes after success. */
export const sender = (sending: Partial<PlainSending>): Partial<WorldParts> => ({
  ...consumer("after-success"),
  createProducer: createPlainProducer({ ...CAREFUL_SENDING, ...sending }),
  createRelay: createNoRelay,
});
