// Record names: from keys and bodies, which are long, back to what the workload calls a record.

import { envelopeKey } from "../core/envelope.ts";
import { recordKey } from "../core/record-key.ts";
import type { RecordKey } from "../core/record-state.ts";

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
  const byBody = new Map<string, readonly string[]>();
  return {
    teach(identity, name) {
      byIdentity.set(identity, name);
      byKey.set(recordKey({ pipeline, generation }, identity), name);
    },
    ofKey: (key) => byKey.get(key) ?? key,
    ofOutboxKey: (key) => byIdentity.get(key) ?? key,
    ofBody(body) {
      const known = byBody.get(body);
      if (known !== undefined) return known;
      const names = namesIn(body);
      byBody.set(body, names);
      return names;
    },
  };
}

export function identityOf(name: string): string {
  return envelopeKey(EVENT_SOURCE, name);
}

interface SimBody {
  readonly dedupe_key?: string;
  readonly Records?: readonly {
    readonly responseElements: { readonly "x-amz-request-id": string };
  }[];
}

function namesIn(body: string): readonly string[] {
  const { dedupe_key, Records = [] } = JSON.parse(body) as SimBody;
  if (dedupe_key !== undefined) return [dedupe_key];
  return Records.map(({ responseElements }) => responseElements["x-amz-request-id"]);
}
