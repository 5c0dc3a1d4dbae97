// Record names: from keys and bodies, which are long, back to what the workload calls a record.

import { envelopeKey } from "../core/events/envelope.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { RecordKey } from "../ports/record.ts";

/** Where the envelopes of the simulated producers come from. */
export const EVENT_SOURCE = "sim.world.events";

export interface RecordNames {
  /** Makes the record of an identity known by `name`. */
  teach(identity: string, name: string): void;
  ofKey(key: RecordKey | string): string;
  ofOutboxKey(key: string): string;
  ofBody(body: string): readonly string[];
}

export function createRecordNames(pipeline: string, generation: number): RecordNames {
  const byKey = new Map<string, string>();
  const byIdentity = new Map<string, string>();
  return {
    teach(identity, name) {
      byIdentity.set(identity, name);
      byKey.set(recordKey({ pipeline, generation }, identity), name);
    },
    ofKey: (key) => byKey.get(key) ?? key,
    ofOutboxKey: (key) => byIdentity.get(key) ?? key,
    ofBody: namesIn,
  };
}

export function identityOf(name: string): string {
  return envelopeKey(EVENT_SOURCE, name);
}

/** Before the name of an envelope, and of each record that S3 tells of; both are our own text. */
const ENVELOPE_MARK = '"dedupe_key":"';
const RECORD_MARK = '"x-amz-request-id":"';

/** Reads the names without parsing the whole, which every message would pay for many times. */
function namesIn(body: string): readonly string[] {
  const names: string[] = [];
  const mark = body.includes(ENVELOPE_MARK) ? ENVELOPE_MARK : RECORD_MARK;
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at)) {
    at += mark.length;
    names.push(body.slice(at, body.indexOf('"', at)));
  }
  return names;
}
