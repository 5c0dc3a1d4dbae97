// Topology: who takes part in a simulated world, and how it is set up. The swarm draws one from the
// seed; tests write their own.

import { SQS_RETENTION_MS_DEFAULT } from "../core/limits.ts";

export interface Topology {
  readonly contents: "messages" | "objects";
  readonly fifo: boolean;
  /** Message groups, or objects that are put again and again. */
  readonly groups: number;
  readonly producers: number;
  /**
   * Whether those who gave a producer an event do not ask again after it failed or died: what was
   * registered by then is the relay's to send.
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
  readonly onPoison: "halt" | "skip";
  readonly onMissing: "dead-letter" | "drop" | "retry";
  readonly maxReceiveCount: number;
  /** How long the queue keeps a message. */
  readonly retentionMs: number;
  /** Whether leases are kept on a thread of their own. */
  readonly keeper: "loop" | "thread";
  /** Whether the ledger judges by the caller's clock as the call began, or as it is carried out. */
  readonly ledgerTime: "asked" | "done";
  readonly versioned: boolean;
  /** The most changes of objects that one message tells of. */
  readonly recordsMax: number;
  readonly latencyMsMax: number;
  readonly slowMsMax: number;
  /** The longest that a commit of the broker takes; 0: none takes any time. */
  readonly commitMsMax: number;
  readonly allowedLatenessMs: number;
  readonly events: number;
  readonly bursts: number;
  readonly burstMs: number;
  /** The longest an ordinary handler takes. */
  readonly handlerMsMax: number;
  /**
   * Parts of the records: given up on at once, failing at first, failing at every attempt, slower
   * than their lease, hanging.
   */
  readonly poison: number;
  readonly flaky: number;
  readonly hopeless: number;
  readonly slow: number;
  readonly hanging: number;
  readonly timeoutMs: number;
}

export const PLAIN_TOPOLOGY: Topology = {
  contents: "messages",
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
  onPoison: "halt",
  onMissing: "dead-letter",
  maxReceiveCount: 1_000,
  retentionMs: SQS_RETENTION_MS_DEFAULT,
  keeper: "loop",
  ledgerTime: "done",
  versioned: false,
  recordsMax: 1,
  latencyMsMax: 10,
  slowMsMax: 60_000,
  commitMsMax: 0,
  allowedLatenessMs: 600_000,
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
};
