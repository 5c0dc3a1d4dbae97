// Topology: the processes of a simulated world and their settings. The swarm draws one from the
// seed; tests write their own.

import { SQS_RETENTION_MS_DEFAULT } from "../core/limits.ts";
import type { TablesTopology } from "./tables/tables-topology.ts";

export interface Topology {
  readonly contents: "messages" | "objects";
  /** Whether consumers read the messages as own messages, keyed from the body. */
  readonly own: boolean;
  readonly fifo: boolean;
  /** Message groups, or objects that are put again and again. */
  readonly groups: number;
  readonly producers: number;
  /**
   * Whether the source system does not submit an event again after the producer failed or crashed:
   * the relay then has to send what was registered.
   */
  readonly forgetful: boolean;
  readonly consumers: number;
  readonly concurrency: number;
  readonly visibilityMs: number;
  readonly attempts: number;
  readonly retryBaseMs: number;
  readonly retryCapMs: number;
  readonly lease: "auto" | "ledger" | "receipt";
  readonly sink: "transactional" | "idempotent";
  /** Whether the idempotent sink writes objects to a bucket. */
  readonly objectsSink: boolean;
  /** Batches that a poller registers, of half of the records; 0: no poller. */
  readonly batches: number;
  readonly onPoison: "halt" | "skip";
  readonly onMissing: "dead-letter" | "drop" | "retry";
  /** Null: the queue has no dead-letter queue. */
  readonly maxReceiveCount: number | null;
  /** Retention period of the queue. */
  readonly retentionMs: number;
  /** Retention period of the dead-letter queue. Default: that of SQS. */
  readonly deadLetterRetentionMs?: number;
  /** Whether leases are renewed in the event loop, or on a separate thread. */
  readonly leaseRenewer: "loop" | "thread";
  /** Whether the ledger uses the caller's clock as of the call, or as of its execution. */
  readonly ledgerTime: "asked" | "done";
  readonly versioned: boolean;
  /** Maximum number of object changes in one message. */
  readonly recordsMax: number;
  readonly latencyMsMax: number;
  readonly slowMsMax: number;
  /** Maximum duration of a broker commit; 0: commits take no time. */
  readonly commitMsMax: number;
  readonly outOfOrderMs: number;
  /** What consumers do with records that are too late. */
  readonly late: "process" | "hold" | "queue";
  readonly allowedLatenessMs: number;
  /** Fraction of the records whose event time is older than their arrival. */
  readonly lateEvents: number;
  /** Backfills beside the workload. Default: none. */
  readonly backfills?: number;
  /** Whether the pipeline archives its messages, which replays then read. Default: false. */
  readonly archive?: boolean;
  /** Audits beside the workload. Default: none. */
  readonly audits?: number;
  /** Fraction of the changes whose notification is delayed. Default: none. */
  readonly delayed?: number;
  readonly events: number;
  readonly bursts: number;
  readonly burstMs: number;
  /** Maximum duration of an ordinary handler. */
  readonly handlerMsMax: number;
  /**
   * Fractions of the records: dead-lettered immediately, failing at first, failing at every
   * attempt, slower than their lease, hanging.
   */
  readonly poison: number;
  readonly flaky: number;
  readonly hopeless: number;
  readonly slow: number;
  readonly hanging: number;
  readonly timeoutMs: number;
  /** Fraction of the producers' messages that governance refuses. */
  readonly refused: number;
  /** Fraction of the other messages whose payload governance has masked. Default: none. */
  readonly masked?: number;
  /** Whether the mask hides event times, too, so that no replay can read it. Default: false. */
  readonly masksTimes?: boolean;
  /** Whether handlers use the time and the random values of their context. Default: false. */
  readonly draws?: boolean;
  /** Whether the event time function gives another time at every call. Default: false. */
  readonly unsteadyTimes?: boolean;
  /** Files fill tables of the production table sink. Default: none. */
  readonly tables?: TablesTopology;
}

export const PLAIN_TOPOLOGY: Topology = {
  contents: "messages",
  own: false,
  fifo: false,
  groups: 4,
  producers: 1,
  forgetful: false,
  consumers: 2,
  concurrency: 10,
  visibilityMs: 30_000,
  attempts: 5,
  retryBaseMs: 500,
  retryCapMs: 30_000,
  lease: "auto",
  sink: "transactional",
  objectsSink: false,
  batches: 0,
  onPoison: "halt",
  onMissing: "dead-letter",
  maxReceiveCount: 1_000,
  retentionMs: SQS_RETENTION_MS_DEFAULT,
  leaseRenewer: "loop",
  ledgerTime: "done",
  versioned: false,
  recordsMax: 1,
  latencyMsMax: 10,
  slowMsMax: 60_000,
  commitMsMax: 0,
  outOfOrderMs: 600_000,
  late: "process",
  allowedLatenessMs: 0,
  lateEvents: 0,
  events: 20,
  bursts: 1,
  burstMs: 1_000,
  handlerMsMax: 50,
  poison: 0,
  flaky: 0,
  hopeless: 0,
  slow: 0,
  hanging: 0,
  timeoutMs: 300_000,
  refused: 0,
};

/** "role-1", "role-2" and so on. */
export function numbered(role: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${role}-${at + 1}`);
}
