// Ingest points: the named moments in the life of a record at which a consumer can be made to die
// or to freeze, reached by wrapping its ports and never by timing.
//   P1. A point is told on the output before it acts, so that a parent knows it was reached.
//   P2. SIGKILL and SIGSTOP are raised on the process by itself: nothing runs in between.
//   P3. SQLite's own COMMIT is seen by wrapping the driver's `run`. It counts only while a record's
//       commit is under way, or its being given up: from then on the next transaction is the one
//       that holds it.

import { writeSync } from "node:fs";
import { StatementSync } from "node:sqlite";
import type { ConsumerPorts } from "../../src/ingest/running/consumer-parts.ts";
import { CONSUMER_METRICS as METRICS } from "../../src/ingest/telemetry/metrics.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Queue } from "../../src/ports/queue-receiver.ts";
import type { Sink } from "../../src/ports/sink.ts";
import type { Telemetry } from "../../src/ports/telemetry.ts";

/** In the order in which a record comes by. */
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

/** In the order in which a record comes by that is given up on; deletes are those above. */
export const GIVING_UP_POINTS = [
  "giving-up",
  "before-parking-commit",
  "after-parking-commit",
  "parked",
  "letter-sending",
  "letter-sent",
  "letter-noting",
  "letter-noted",
] as const;
export type GivingUpPoint = (typeof GIVING_UP_POINTS)[number];

export type IngestPoint = (typeof INGEST_POINTS)[number] | GivingUpPoint;

export interface PointPlan {
  readonly point: IngestPoint;
  readonly signal: "SIGKILL" | "SIGSTOP";
}

export type Reach = (point: IngestPoint) => void;

/** Writes a line at once, whatever happens next (P1). */
export function say(line: string): void {
  writeSync(1, `${line}\n`);
}

/** The function that ports call at each point; it acts at the first occurrence of the planned. */
export function createReach(plan: PointPlan | null): Reach {
  let acted = false;
  return (point) => {
    if (acted || point !== plan?.point) return;
    acted = true;
    say(`at ${point}`);
    process.kill(process.pid, plan.signal); // P2
  };
}

/** The same ports, with points on the way. */
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
      for (const { messageId } of deliveries) say(`brought ${messageId}`);
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
      reach("letter-sending");
      const outcomes = await queue.sendBatch(messages);
      reach("letter-sent");
      return outcomes;
    },
  };
}

function pointedLedger(ledger: Ledger, reach: Reach): Ledger {
  let sealing = 0;
  let parking = 0;
  watchStatements({
    before(sql) {
      if (sql !== "COMMIT") return;
      if (sealing > 0) reach("before-sqlite-commit");
      if (parking > 0) reach("before-parking-commit");
    },
    after(sql) {
      if (sql === "COMMIT" && parking > 0) reach("after-parking-commit");
      if (sealing === 0) return; // P3
      if (sql === "COMMIT") reach("after-sqlite-commit");
      else if (sql.includes('"_tg_')) reach("in-transaction");
    },
  });
  const sealed = async <R extends { readonly kind: string }>(ask: () => Promise<R[]>) => {
    reach("committing");
    sealing += 1;
    try {
      const results = await ask();
      for (const { kind } of results) say(`sealed ${kind}`);
      if (results.some(({ kind }) => kind === "committed")) reach("committed");
      return results;
    } finally {
      sealing -= 1;
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
      reach("giving-up");
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
      if (noted) reach("letter-noting");
      await ledger.addNotes(scope, notes);
      if (noted) reach("letter-noted");
    },
    commit: (scope, commits) => sealed(() => ledger.commit(scope, commits)),
    commitDirect: (scope, commits) => sealed(() => ledger.commitDirect(scope, commits)),
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

/** What became of records, in the words of the metrics that count it. */
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

/** Hears of every statement of this thread that is run (P3). */
function watchStatements({ before, after }: StatementWatch): void {
  const run = StatementSync.prototype.run;
  StatementSync.prototype.run = function (this: StatementSync, ...params: never[]) {
    before(this.sourceSQL);
    const result = Reflect.apply(run, this, params);
    after(this.sourceSQL);
    return result;
  } as typeof run;
}
