// Record names: maps long keys and bodies back to the workload's name of a record.

import { envelopeKey } from "../core/events/envelope.ts";
import type { ObjectEvent } from "../core/events/object-event.ts";
import { ownIdentity } from "../core/events/own-message.ts";
import { withheldIdentity } from "../ingest/dead-letters/withheld-body.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { RecordKey } from "../ports/record.ts";

/** The `source` of the simulated producers' envelopes. */
export const EVENT_SOURCE = "sim.world.events";
/** The name of the simulated pipeline. */
export const PIPELINE_NAME = "sim";

export interface RecordNames {
  /** Assigns `name` to the record with this identity, and to a body that does not show it. */
  add(identity: string, name: string, body?: string): void;
  /** Assigns `name` to a record that consumers read as an own message. */
  addOwn(name: string): void;
  /** Names the record that a consumer would make if it took the message id for the key. */
  delivered(messageId: string, names: readonly string[]): void;
  ofKey(key: RecordKey | string): string;
  ofOutboxKey(key: string): string;
  ofBody(body: string): readonly string[];
}

export function createRecordNames(pipeline: string, generation: number): RecordNames {
  const byKey = new Map<string, string>();
  const byIdentity = new Map<string, string>();
  const byBody = new Map<string, readonly string[]>();
  let own = false;
  const withheldName = (body: string) => {
    const identity = withheldIdentity(body);
    return identity === null ? undefined : [byIdentity.get(identity) ?? identity];
  };
  const assign = (identity: string, name: string) => {
    byIdentity.set(identity, name);
    byKey.set(recordKey({ pipeline, generation }, identity), name);
  };
  return {
    add(identity, name, body) {
      if (body !== undefined) byBody.set(body, [name]);
      assign(identity, name);
    },
    addOwn(name) {
      own = true;
      assign(ownIdentity(pipeline, "body", name), name);
    },
    delivered(messageId, [name]) {
      if (own && name !== undefined) assign(ownIdentity(pipeline, "body", messageId), name);
    },
    ofKey: (key) => byKey.get(key) ?? key,
    ofOutboxKey: (key) => byIdentity.get(key) ?? key,
    ofBody: (body) => byBody.get(body) ?? withheldName(body) ?? namesIn(body),
  };
}

const REDRIVE_MARK = "redrive of ";

/** The name of the record that redrives a set of quarantined rows. */
export function redriveName(of: string, set: string): string {
  return `${REDRIVE_MARK}${of} (${set})`;
}

/** The record whose file has the rows of a record, which may be a redrive. */
export function originOf(name: string): string {
  return name.startsWith(REDRIVE_MARK) ? (name.split(" ")[2] ?? name) : name;
}

/** The name of a record that a backfill makes of a listed object. */
export function listedName({ key, version_id, etag, event_time }: ObjectEvent): string {
  return `listed ${key} ${version_id ?? etag} ${event_time}`;
}

export function identityOf(name: string): string {
  return envelopeKey(EVENT_SOURCE, name);
}

/** The text before the name in an envelope, and in each S3 record; the world writes both. */
const ENVELOPE_MARK = '"dedupe_key":"';
const RECORD_MARK = '"x-amz-request-id":"';

/** Finds the names without parsing the whole body, which would cost too much per message. */
function namesIn(body: string): readonly string[] {
  const names: string[] = [];
  const mark = body.includes(ENVELOPE_MARK) ? ENVELOPE_MARK : RECORD_MARK;
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at)) {
    at += mark.length;
    names.push(body.slice(at, body.indexOf('"', at)));
  }
  return names;
}
