// Ingest points: the named moments in the processing of a record at which a consumer can be killed
// or frozen. They are reached by wrapping its ports, never by timing.
//   P1. A point is printed before it acts, so that the parent process sees that it was reached.
//   P2. The process raises SIGKILL and SIGSTOP on itself: nothing runs in between.
//   P3. SQLite's own COMMIT is observed by wrapping the driver's `run`. It counts only while a
//       record is being committed or parked: from then on, the next transaction is the one that
//       holds it.

import { writeSync } from "node:fs";
import { StatementSync } from "node:sqlite";
import type { ConsumerPorts } from "../../src/ingest/running/consumer-parts.ts";
import { CONSUMER_METRICS as METRICS } from "../../src/ingest/telemetry/metrics.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Queue } from "../../src/ports/queue-receiver.ts";
import type { Sink } from "../../src/ports/sink.ts";
import type { Telemetry } from "../../src/ports/telemetry.ts";

/** In the order in which a record reaches them. */
export const INGEST_POINTS = [
  "received",
  "decoded",
  "claiming",
  "claimed",
  "in-handler",
  "handled",
  "applying",
  "applied",
  "committing",
  "in-transaction",
  "before-sqlite-commit",
  "after-sqlite-commit",
  "committed",
  "deleting",
  "deleted",
] as const;

/** In the order in which a parked record reaches them; its deletes are those above. */
export const PARKING_POINTS = [
  "parking",
  "before-parking-commit",
  "after-parking-commit",
  "parked",
  "dead-letter-sending",
  "dead-letter-sent",
  "dead-letter-noting",
  "dead-letter-noted",
] as const;
export type ParkingPoint = (typeof PARKING_POINTS)[number];

export type IngestPoint = (typeof INGEST_POINTS)[number] | ParkingPoint;

export interface PointPlan {
  readonly point: IngestPoint;
  readonly signal: "SIGKILL" | "SIGSTOP";
}

export type Reach = (point: IngestPoint) => void;

/** Writes a line synchronously, whatever happens next (P1). */
export function say(line: string): void {
  writeSync(1, `${line}\n`);
}

/**
 * Ports call the returned function at each point; it acts at the first planned one. `beforeStop`
 * runs just before SIGSTOP.
 */
export function createReach(plan: PointPlan | null, beforeStop: () => void): Reach {
  let acted = false;
  return (point) => {
    if (acted || point !== plan?.point) return;
    acted = true;
    if (plan.signal === "SIGSTOP") beforeStop();
    say(`at ${point}`);
    process.kill(process.pid, plan.signal); // P2
  };
}

/** The same ports, with points at their calls. */
export function withPoints(ports: ConsumerPorts, reach: Reach): ConsumerPorts {
  const { queue, deadLetters, ledger, sink, telemetry } = ports;
  return {
    ...ports,
    queue: pointedQueue(queue, reach),
    deadLetters: deadLetters === null ? null : pointedDeadLetters(deadLetters, reach),
    ledger: pointedLedger(ledger, reach),
    sink: pointedSink(sink, reach),
    telemetry: pointedTelemetry(telemetry, reach),
  };
}

function pointedQueue(queue: Queue, reach: Reach): Queue {
  return {
    ...queue,
    async receive(request, signal) {
      say("receiving");
      const deliveries = await queue.receive(request, signal);
      for (const { messageId } of deliveries) say(`delivered ${messageId}`);
      if (deliveries.length > 0) reach("received");
      return deliveries;
    },
    async deleteBatch(receipts) {
      reach("deleting");
      const outcomes = await queue.deleteBatch(receipts);
      reach("deleted");
      return outcomes;
    },
  };
}

function pointedDeadLetters(queue: Queue, reach: Reach): Queue {
  return {
    ...queue,
    async sendBatch(messages) {
      reach("dead-letter-sending");
      const outcomes = await queue.sendBatch(messages);
      reach("dead-letter-sent");
      return outcomes;
    },
  };
}

function pointedLedger(ledger: Ledger, reach: Reach): Ledger {
  let committing = 0;
  let parking = 0;
  watchStatements({
    before(sql) {
      if (sql !== "COMMIT") return;
      if (committing > 0) reach("before-sqlite-commit");
      if (parking > 0) reach("before-parking-commit");
    },
    after(sql) {
      if (sql === "COMMIT" && parking > 0) reach("after-parking-commit");
      if (committing === 0) return; // P3
      if (sql === "COMMIT") reach("after-sqlite-commit");
      else if (sql.includes('"_tg_')) reach("in-transaction");
    },
  });
  const runCommit = async <R extends { readonly kind: string }>(commit: () => Promise<R[]>) => {
    reach("committing");
    committing += 1;
    try {
      const results = await commit();
      for (const { kind } of results) say(`commit ${kind}`);
      if (results.some(({ kind }) => kind === "committed")) reach("committed");
      return results;
    } finally {
      committing -= 1;
    }
  };
  return {
    ...ledger,
    async claim(scope, requests, lease) {
      reach("claiming");
      const results = await ledger.claim(scope, requests, lease);
      reach("claimed");
      return results;
    },
    async fail(scope, attempts) {
      if (!attempts.some(({ permanent }) => permanent)) return ledger.fail(scope, attempts);
      reach("parking");
      parking += 1;
      try {
        const results = await ledger.fail(scope, attempts);
        reach("parked");
        return results;
      } finally {
        parking -= 1;
      }
    },
    async addNotes(scope, notes) {
      const noted = notes.some(({ kind }) => kind === "dossier");
      if (noted) reach("dead-letter-noting");
      await ledger.addNotes(scope, notes);
      if (noted) reach("dead-letter-noted");
    },
    commit: (scope, commits) => runCommit(() => ledger.commit(scope, commits)),
    commitDirect: (scope, commits) => runCommit(() => ledger.commitDirect(scope, commits)),
  };
}

function pointedSink(sink: Sink | null, reach: Reach): Sink | null {
  if (sink?.mode !== "idempotent") return sink;
  return {
    ...sink,
    async apply(effects, origin, signal) {
      reach("applying");
      await sink.apply(effects, origin, signal);
      reach("applied");
    },
  };
}

/** The outcome of records, by the metric that counts it. */
const OUTCOMES: ReadonlyMap<string, string> = new Map([
  [METRICS.committed.name, "committed"],
  [METRICS.duplicates.name, "duplicate"],
  [METRICS.returned.name, "released"],
  [METRICS.leasesLost.name, "lost"],
]);

function pointedTelemetry(telemetry: Telemetry, reach: Reach): Telemetry {
  return {
    ...telemetry,
    record(name, value, labels) {
      telemetry.record(name, value, labels);
      if (name !== METRICS.latency.name) return;
      if (labels?.stage === "decode") reach("decoded");
      if (labels?.stage === "handle") reach("handled");
    },
    count(name, by, labels) {
      telemetry.count(name, by, labels);
      const outcome = OUTCOMES.get(name);
      if (outcome !== undefined) say(`outcome ${outcome}`);
    },
  };
}

interface StatementWatch {
  before(sql: string): void;
  after(sql: string): void;
}

/** Calls back around every statement that this thread runs (P3). */
function watchStatements({ before, after }: StatementWatch): void {
  for (const method of ["run", "get"] as const) {
    const original = StatementSync.prototype[method];
    const watched = function (this: StatementSync, ...params: never[]) {
      before(this.sourceSQL);
      const result = Reflect.apply(original, this, params);
      after(this.sourceSQL);
      return result;
    };
    Object.assign(StatementSync.prototype, { [method]: watched });
  }
}
