// Stage world: memory ports for tests of single stages. Time stands still until a test moves it.

import { createMask } from "../../src/core/encoding/mask.ts";
import { buildEnvelope } from "../../src/core/events/envelope.ts";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import { durationMs } from "../../src/core/units.ts";
import {
  type InFlightDelivery,
  trackDelivery,
} from "../../src/ingest/running/in-flight-delivery.ts";
import { createLeaseRenewer } from "../../src/ingest/running/lease-renewer.ts";
import { type Pipeline, pipeline } from "../../src/ingest/spec/define-pipeline.ts";
import { createDeadlines, type Deadlines } from "../../src/ingest/stages/deadlines.ts";
import { decodeDelivery, type WorkRecord } from "../../src/ingest/stages/decode.ts";
import { createRecordMask } from "../../src/ingest/telemetry/record-mask.ts";
import { SILENT } from "../../src/ingest/telemetry/silent-telemetry.ts";
import type { LeaseRenewer } from "../../src/ports/lease-renewer.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { ObjectSource, OpenedObject } from "../../src/ports/objects/object-source.ts";
import type { OutgoingMessage } from "../../src/ports/queue.ts";
import type { Delivery, Queue } from "../../src/ports/queue-receiver.ts";
import type { Telemetry } from "../../src/ports/telemetry.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { ManualClock } from "./manual-clock.ts";

export const OWNER = "worker-1";
export const RUN_ID = "run-1";
/** How long a lease lasts without renewal. */
export const LEASE_MS = 60_000;

export interface StageWorldOptions {
  /** A bucket makes it a pipeline of objects; otherwise it reads messages. */
  readonly bucket?: string;
  readonly fifo?: boolean;
  readonly spec?: object;
  readonly wrapLedger?: (ledger: Ledger) => Ledger;
}

/** A queue that accepts everything and delivers nothing. */
export interface MemoryQueue extends Queue {
  readonly sent: OutgoingMessage[];
}

export function createStageWorld(options: StageWorldOptions = {}) {
  const { bucket, fifo = false, wrapLedger = (ledger) => ledger } = options;
  const clock = new ManualClock();
  const store = createMemoryLedger({ clock });
  const ledger = wrapLedger(store);
  const spec: Pipeline = pipeline({
    name: "stages",
    source: bucket === undefined ? { queue: "work" } : { bucket },
    handler: () => undefined,
    visibilityMs: LEASE_MS,
    ...options.spec,
  } as never);
  const scope = { pipeline: spec.name, generation: spec.generation };
  const queue = memoryQueue(fifo ? "work.fifo" : "work", fifo);
  const deadLetters = memoryQueue(fifo ? "dead.fifo" : "dead", fifo);
  const { telemetry, logs } = recordedTelemetry();
  const leaseMs = durationMs(LEASE_MS);
  const renewer = createLeaseRenewer(
    { queue, ledger: store, scope, clock, telemetry },
    { visibilityMs: leaseMs, leaseMs },
  );
  const deadlines: Deadlines = createDeadlines(clock, spec.timeoutMs);
  const mask = createMask(spec.mask);
  const deliveries = createDeliveries(clock, spec, { renewer, fifo });

  return {
    clock,
    random: createSeededRandom(1),
    turn: { afterTurn: (work: () => void) => void setImmediate(work) },
    ledger,
    /** The ledger behind `wrapLedger`, to look at. */
    store,
    queue,
    deadLetters,
    telemetry,
    logs,
    renewer,
    deadlines,
    mask,
    masked: createRecordMask(mask),
    pipeline: spec,
    scope,
    ...deliveries,
    /** Moves time on in steps of a second, so that renewals happen in between. */
    async pass(ms: number): Promise<void> {
      await turns();
      for (let passed = 0; passed < ms; passed += 1_000) {
        clock.advance(Math.min(1_000, ms - passed));
        await turns();
      }
    },
    async [Symbol.asyncDispose]() {
      deadlines.close();
      await renewer.close();
    },
  };
}

function createDeliveries(
  clock: ManualClock,
  spec: Pipeline,
  { renewer, fifo }: { readonly renewer: LeaseRenewer; readonly fifo: boolean },
) {
  let count = 0;

  const deliver = (body: string, more: Partial<Delivery> = {}): Delivered => {
    count += 1;
    const delivery: Delivery = {
      messageId: `message-${count}`,
      receipt: `receipt-${count}`,
      body,
      attributes: {},
      traceHeader: null,
      groupId: fifo ? "group" : null,
      sentAt: clock.now(),
      receiveCount: 1,
      movedFrom: null,
      ...more,
    };
    const since = { leaseSince: clock.now(), receivedAt: clock.now() };
    const inFlight = trackDelivery(renewer, { delivery, ...since });
    const [record] = decodeDelivery(spec, delivery).records;
    if (record === undefined) throw new Error(`no record in ${body}`);
    return { record, inFlight };
  };
  return {
    deliver,
    /** Delivers an envelope with that deduplication key. */
    message(key: string, payload: object = {}, more: Partial<Delivery> = {}): Delivered {
      return deliver(envelopeBody(key, payload, clock.now()), more);
    },
    /** Delivers an S3 event of that object. */
    object(key: string, event: { readonly removed?: boolean; readonly sequencer?: string } = {}) {
      return deliver(notificationBody(spec.source.bucket ?? "in", key, event));
    },
  };
}

export type StageWorld = ReturnType<typeof createStageWorld>;

export interface Delivered {
  readonly record: WorkRecord;
  readonly inFlight: InFlightDelivery;
}

/** Lets everything that is due now happen. */
export async function turns(count = 10): Promise<void> {
  for (let at = 0; at < count; at += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Objects by their key; any other key is missing. */
export function memoryObjects(objects: Readonly<Record<string, string | OpenedObject>>) {
  const source: ObjectSource = {
    async open({ key }) {
      const stored = objects[key];
      if (stored === undefined) return { kind: "missing" };
      if (typeof stored !== "string") return stored;
      const bytes = new TextEncoder().encode(stored);
      async function* stream() {
        yield bytes;
      }
      const range = async (start: number, end: number) => bytes.slice(start, end);
      const opened = { size: bytes.length, stream, range };
      return {
        kind: "opened",
        bytes: opened,
        etag: null,
        versionId: null,
        lastModified: null,
        metadata: {},
        tags: async () => ({}),
      };
    },
  };
  return source;
}

function memoryQueue(name: string, fifo: boolean): MemoryQueue {
  const sent: OutgoingMessage[] = [];
  const limits = { entriesMax: 10, messageBytesMax: 262_144, batchBytesMax: 262_144 };
  const done = { kind: "done" } as const;
  return {
    kind: "queue",
    name,
    fifo,
    limits,
    sent,
    async sendBatch(messages) {
      return messages.map((message) => {
        sent.push(message);
        return { kind: "sent", messageId: `${name}-${sent.length}`, sequenceNumber: null };
      });
    },
    receive: async () => [],
    deleteBatch: async (receipts) => receipts.map(() => done),
    changeVisibility: async (changes) => changes.map(() => done),
    facts: async () => ({
      arn: `arn:aws:sqs:us-east-1:000000000000:${name}`,
      visibilityMs: durationMs(30_000),
      retentionMs: durationMs(345_600_000),
      waitMs: durationMs(0),
      messageBytesMax: limits.messageBytesMax,
      redrive: null,
      visible: sent.length,
      hidden: 0,
      delayed: 0,
    }),
  };
}

function recordedTelemetry() {
  const logs: { readonly level: string; readonly message: string }[] = [];
  const telemetry: Telemetry = {
    ...SILENT,
    log: (level, message) => void logs.push({ level, message }),
  };
  return { telemetry, logs };
}

function envelopeBody(dedupeKey: string, payload: object, eventTime: number): string {
  const input = { source: "test.unit.stages", dedupeKey, eventTime, payload };
  const built = buildEnvelope(input as never);
  if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
  return built.value.body;
}

function notificationBody(
  bucket: string,
  key: string,
  {
    removed = false,
    sequencer = "0A",
  }: { readonly removed?: boolean; readonly sequencer?: string },
): string {
  const record = {
    eventVersion: "2.1",
    eventSource: "aws:s3",
    eventTime: "2026-01-01T00:00:00.000Z",
    eventName: removed ? "ObjectRemoved:Delete" : "ObjectCreated:Put",
    s3: { bucket: { name: bucket }, object: { key, size: 1, eTag: "e", sequencer } },
  };
  return JSON.stringify({ Records: [record] });
}
