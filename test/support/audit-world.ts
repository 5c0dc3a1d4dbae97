// Audit world: a bucket in memory, a ledger, and events that a test delivers, loses or reorders.

import { randomUUID } from "node:crypto";
import { AUDIT_STATUSES, type AuditLine } from "../../src/audit/audit-line.ts";
import { emptyQueue, type QueueSnapshot } from "../../src/audit/queue-snapshot.ts";
import { type AuditOptions, type AuditPorts, runAudit } from "../../src/audit/run-audit.ts";
import { formatInstant } from "../../src/core/encoding/rfc3339.ts";
import { compareUtf8 } from "../../src/core/encoding/utf8-order.ts";
import { buildObjectEvent, type ObjectEvent } from "../../src/core/events/object-event.ts";
import { objectStateOf } from "../../src/core/events/object-identity.ts";
import { sequencerAfter } from "../../src/core/events/sequencer.ts";
import { addMs, days, durationMs, type EpochMs, epochMs, minutes } from "../../src/core/units.ts";
import { recordKey } from "../../src/ledger/record-key.ts";
import type { EffectLister, ListedEffect } from "../../src/ports/effect-lister.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { ListedObject, ObjectLister } from "../../src/ports/objects/object-lister.ts";
import type { RecordInput, RecordKey } from "../../src/ports/record.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { ManualClock } from "./manual-clock.ts";

export const AUDIT_SCOPE = { pipeline: "audited", generation: 0 };
export const AUDIT_BUCKET = "landing";
const START = epochMs(1_700_000_000_000);
/** Objects of a page of the bucket, and effects of one of the sink. */
export const AUDIT_PAGE = 3;
const FAILURE = { errorClass: "handler", fingerprint: "f", message: "broken" };

export class AuditWorld {
  readonly clock = new ManualClock(START);
  readonly ledger: Ledger;
  readonly versioned: boolean;
  /** Newest version first. */
  readonly versions = new Map<string, ListedObject[]>();
  readonly effects = new Map<string, ListedEffect>();
  readonly queued = new Set<string>();
  #writes = 0;

  constructor(versioned: boolean, ledger?: Ledger) {
    this.versioned = versioned;
    this.ledger = ledger ?? createMemoryLedger({ clock: this.clock });
  }

  /** Writes an object and returns its event, which is not delivered. */
  put(key: string, bytes: string): ObjectEvent {
    this.clock.advance(minutes(2));
    this.#writes += 1;
    const versionId = this.versioned ? `v${this.#writes}` : null;
    const object: ListedObject = {
      key,
      versionId,
      etag: bytes,
      size: bytes.length,
      lastModified: this.clock.now(),
      isLatest: true,
    };
    const older = (this.versions.get(key) ?? []).map((one) => ({ ...one, isLatest: false }));
    this.versions.set(key, this.versioned ? [object, ...older] : [object]);
    return this.#event("ObjectCreated:Put", key, object);
  }

  /** Deletes an object: with versions, a delete marker hides them. */
  remove(key: string): ObjectEvent {
    this.clock.advance(minutes(2));
    this.#writes += 1;
    const older = (this.versions.get(key) ?? []).map((one) => ({ ...one, isLatest: false }));
    if (this.versioned) this.versions.set(key, older);
    else this.versions.delete(key);
    const versionId = this.versioned ? `v${this.#writes}` : null;
    return this.#event("ObjectRemoved:Delete", key, { versionId });
  }

  #event(name: string, key: string, object: Partial<ListedObject>): ObjectEvent {
    const { versionId = null, etag = null, size = null } = object;
    const sequencer = (0x1000_0000 + this.#writes).toString(16);
    return built({
      source_kind: "s3-notification",
      event_name: name,
      bucket: AUDIT_BUCKET,
      key,
      version_id: versionId,
      etag,
      size,
      sequencer,
      request_id: "r",
      event_time: formatInstant(this.clock.now()),
      last_modified: null,
      trace_id: null,
    });
  }

  /** The event that a listing finds the current version. */
  listed(key: string): ObjectEvent | null {
    const [object] = this.versions.get(key) ?? [];
    if (object?.isLatest !== true) return null;
    return built({
      source_kind: "listing",
      event_name: "ObjectCreated:Listing",
      bucket: AUDIT_BUCKET,
      key,
      version_id: object.versionId,
      etag: object.etag,
      size: object.size,
      sequencer: null,
      request_id: null,
      event_time: formatInstant(object.lastModified),
      last_modified: formatInstant(object.lastModified),
      trace_id: null,
    });
  }

  keyOf(event: ObjectEvent): RecordKey {
    return recordKey(AUDIT_SCOPE, event.event_key);
  }

  inputOf(event: ObjectEvent): RecordInput {
    return inputOf(event);
  }

  /** Commits an event; `blind` commits it without the object's row, as a broken consumer would. */
  async commit(event: ObjectEvent, { blind = false } = {}): Promise<void> {
    this.clock.advance(minutes(2));
    const { bucket, key, sequencer } = event;
    const state = objectStateOf(event);
    const ref = { bucket, key, sequencer, ...(state !== null && { state }) };
    const listed = event.source_kind === "listing" && { listed: true as const };
    const request = { key: this.keyOf(event), receivedAt: this.clock.now(), input: inputOf(event) };
    const lease = { owner: "o", leaseMs: minutes(1) };
    const object = blind ? {} : { object: { ...ref, ...listed } };
    const [claim] = await this.ledger.claim(AUDIT_SCOPE, [{ ...request, ...object }], lease);
    if (claim?.kind !== "claimed") return;
    const isCurrent = this.#isCurrent(event);
    const confirmed =
      claim.confirm === undefined ? {} : { confirmed: { basis: claim.confirm, isCurrent } };
    const position = listed && claim.confirm !== undefined && sequencerAfter(claim.confirm);
    const effects = JSON.stringify({ effects: {}, ...(position && { sequencer: position }) });
    const held = { key: request.key, fence: claim.fence, digest: "d", effects };
    const answered = blind ? {} : { object: { ...ref, ...listed, ...confirmed } };
    const [result] = await this.ledger.commit(AUDIT_SCOPE, [{ ...held, ...answered }]);
    if (result?.kind !== "committed") return;
    const eventTime = epochMs(Date.parse(event.event_time));
    const effect = { key, recordKey: request.key, eventTime, fence: claim.fence };
    this.effects.set(key, effect);
  }

  #isCurrent(event: ObjectEvent): boolean {
    const current = this.versions.get(event.key)?.[0];
    if (event.kind === "removed") return current?.isLatest !== true;
    if (current?.isLatest !== true) return false;
    return event.version_id === null
      ? current.etag === event.etag
      : current.versionId === event.version_id;
  }

  async fail(event: ObjectEvent, { permanent = true, failure = FAILURE } = {}): Promise<void> {
    const key = this.keyOf(event);
    const attempt = { key, fence: null, owner: "o", receivedAt: this.clock.now() };
    const input = inputOf(event);
    await this.ledger.fail(AUDIT_SCOPE, [{ ...attempt, input, permanent, failure }]);
  }

  /** Lets time pass until nothing is young. */
  settle(): void {
    this.clock.advance(minutes(30));
  }

  lister(): ObjectLister {
    return {
      list: async ({ prefix, after }) => {
        const keys = [...this.versions.keys()]
          .filter((key) => key.startsWith(prefix))
          .sort(compareUtf8);
        const all = keys.flatMap((key) => this.versions.get(key) ?? []);
        const at = after === null ? 0 : Number(after);
        const objects = all.slice(at, at + AUDIT_PAGE);
        return { objects, next: at + AUDIT_PAGE < all.length ? String(at + AUDIT_PAGE) : null };
      },
    };
  }

  effectLister(): EffectLister {
    return {
      name: "table t",
      list: async ({ prefix, after }) => {
        const all = [...this.effects.values()]
          .filter(({ key }) => key.startsWith(prefix))
          .sort((a, b) => compareUtf8(a.key, b.key));
        const at = after === null ? 0 : Number(after);
        const next = at + AUDIT_PAGE < all.length ? String(at + AUDIT_PAGE) : null;
        return { effects: all.slice(at, at + AUDIT_PAGE), next };
      },
    };
  }

  queue(): QueueSnapshot {
    const empty = emptyQueue(this.clock.now(), "exact");
    return { ...empty, has: (key, state) => this.queued.has(`${key} ${state}`) };
  }

  options(more: Partial<AuditOptions> = {}): AuditOptions {
    const now = this.clock.now();
    return {
      scope: AUDIT_SCOPE,
      bucket: AUDIT_BUCKET,
      prefix: "",
      from: null,
      to: addMs(now, durationMs(1)),
      startedAt: now,
      graceMs: minutes(15),
      pauseMs: durationMs(0),
      retentionMs: days(45),
      isHeld: ({ errorClass }) => errorClass === "held",
      handlesRemovals: false,
      ...more,
    };
  }

  async audit(
    more: Partial<AuditOptions> & {
      readonly sink?: boolean;
      readonly queue?: QueueSnapshot;
      readonly ledger?: Ledger;
      readonly lister?: ObjectLister;
      readonly records?: AuditPorts["records"];
    } = {},
  ): Promise<AuditLine[]> {
    const { sink = false, queue = this.queue(), ledger = this.ledger, ...rest } = more;
    const { lister = this.lister(), records, ...options } = rest;
    const lines: AuditLine[] = [];
    await runAudit(
      {
        clock: this.clock,
        ledger,
        lister,
        effects: sink ? [this.effectLister()] : [],
        readQueue: async () => queue,
        ...(records !== undefined && { records }),
      },
      this.options(options),
      (line) => lines.push(line),
      new AbortController().signal,
    );
    return lines;
  }

  /** An audit that counts its calls. */
  async countedAudit(more: Partial<AuditOptions> = {}) {
    const calls = { list: 0, listRecords: 0, showObject: 0 };
    const inner = this.lister();
    const lister: ObjectLister = {
      list: (...call) => {
        calls.list += 1;
        return inner.list(...call);
      },
    };
    const ledger: Ledger = {
      ...this.ledger,
      listRecords: (...call) => {
        calls.listRecords += 1;
        return this.ledger.listRecords(...call);
      },
      showObject: (...call) => {
        calls.showObject += 1;
        return this.ledger.showObject(...call);
      },
    };
    return { lines: await this.audit({ ...more, ledger, lister }), calls };
  }

  /** Statuses by key, in the order of lines. */
  async statuses(more: Parameters<AuditWorld["audit"]>[0] = {}): Promise<string[]> {
    return (await this.audit(more)).map(({ key, status }) => `${key} ${status}`);
  }
}

export function countsOf(lines: readonly AuditLine[]): Record<string, number> {
  const counts = AUDIT_STATUSES.map((status): [string, number] => [
    status,
    lines.filter((line) => line.status === status).length,
  ]);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

function built(facts: Parameters<typeof buildObjectEvent>[0]): ObjectEvent {
  const event = buildObjectEvent(facts);
  if (event.kind === "invalid") throw new Error(JSON.stringify(event.problems));
  return event.value;
}

function inputOf(event: ObjectEvent): RecordInput {
  const { bucket, key, version_id: versionId, etag, size, sequencer } = event;
  const eventTime: EpochMs = epochMs(Date.parse(event.event_time));
  return {
    kind: "object",
    eventId: event.event_id,
    object: { bucket, key, versionId, etag, size, sequencer },
    source: null,
    dedupeKey: null,
    eventTime,
    sentAt: eventTime,
    messageId: randomUUID(),
    traceId: null,
    runId: "run",
    partition: "p",
    lane: { lane: "live", watermark: null },
  };
}
