// Run audit: merges bucket, ledger and sink by object key, and judges key by key.
//   A1. The lists are merged in one pass (K1 of merged-keys.ts). Memory holds their pages and the
//       lines of one batch.
//   A2. The queue is read first (Q1 of queue-snapshot.ts), then the lists.
//   A3. Lines leave in the order of keys. A batch waits for the second look at its doubtful lines.
//       It ends soon after its first doubt, so that the second look reads a few pages only.
//   A4. Nothing is written.

import type { DurationMs, EpochMs } from "../core/units.ts";
import type { AuditLine } from "./audit-line.ts";
import { type Doubt, type JudgeContext, KeyJudge } from "./judge-key.ts";
import { MergedKeys, type MergeStarts, NEEDS_PAGE, type RecordLister } from "./merged-keys.ts";
import type { QueueSnapshot } from "./queue-snapshot.ts";
import { type LookPorts, SecondLook } from "./second-look.ts";

export interface AuditPorts extends LookPorts {
  /** Reads the queue of the pipeline. */
  readonly readQueue: () => Promise<QueueSnapshot>;
  /** Another reader of the same ledger, for the pass over all keys. */
  readonly records?: RecordLister;
}

export interface AuditOptions extends Omit<JudgeContext, "hasSink" | "inWindow" | "isFiltered"> {
  readonly bucket: string;
  readonly prefix: string;
  /** Only keys that end with this text must have taken effect. Default: all. */
  readonly suffix?: string | undefined;
  /** Objects last modified at this time or later; null: all. */
  readonly from: EpochMs | null;
  /** Exclusive; at most the time of the start. */
  readonly to: EpochMs;
  readonly startedAt: EpochMs;
  readonly graceMs: DurationMs;
  readonly pauseMs: DurationMs;
  readonly retentionMs: DurationMs;
}

/** How far an audit is. */
export interface AuditProgress {
  readonly objects: number;
  /** The key that was judged last. */
  readonly key: string;
}

const BATCH_LINES = 1_000;
/** Keys that a batch may read after its first doubt (A3). */
const KEYS_AFTER_DOUBT = 1_000;

/** Audits a window; calls `onLine` for each object version, in the order of keys. */
export async function runAudit(
  ports: AuditPorts,
  options: AuditOptions,
  onLine: (line: AuditLine) => void,
  signal: AbortSignal,
  onProgress: (progress: AuditProgress) => Promise<void> = async () => undefined,
): Promise<QueueSnapshot> {
  const queue = await ports.readQueue(); // A2
  const audit = new Audit(ports, options, queue, onLine, signal);
  await audit.run(onProgress);
  return queue;
}

interface PendingLine {
  readonly line: AuditLine;
  readonly doubt: Doubt | null;
}

class Audit {
  readonly #signal: AbortSignal;
  readonly #onLine: (line: AuditLine) => void;
  readonly #look: SecondLook;
  readonly #merged: MergedKeys;
  #batch: PendingLine[] = [];
  /** The pages of the first doubt of the batch; null if it has none. */
  #doubtful: MergeStarts | null = null;
  #keysAfterDoubt = 0;

  constructor(
    ports: AuditPorts,
    options: AuditOptions,
    queue: QueueSnapshot,
    onLine: (line: AuditLine) => void,
    signal: AbortSignal,
  ) {
    const { from, to, scope, isHeld, handlesRemovals, suffix = "" } = options;
    this.#signal = signal;
    this.#onLine = onLine;
    const inWindow = (at: EpochMs) => at < to && (from === null || at >= from);
    const hasSink = ports.effects.length > 0;
    const isFiltered = (key: string) => !key.endsWith(suffix);
    const context = { scope, isHeld, handlesRemovals, hasSink, inWindow, isFiltered };
    this.#look = new SecondLook(ports, { ...options, context, queue });
    const emit = (line: AuditLine, doubt: Doubt | null) => this.#emit(line, doubt);
    this.#merged = new MergedKeys(
      { ...ports, ledger: ports.records ?? ports.ledger },
      options,
      (key, versions, effects) => new KeyJudge(context, key, versions, effects, emit),
      signal,
    );
  }

  async run(onProgress: (progress: AuditProgress) => Promise<void>): Promise<void> {
    let objects = 0;
    let last = "";
    for (;;) {
      const key = this.#merged.step(); // A1
      if (key === null) break;
      if (key === NEEDS_PAGE) await this.#merged.fill();
      else {
        objects += 1;
        last = key;
        if (this.#doubtful !== null) this.#keysAfterDoubt += 1;
      }
      const isFull = this.#batch.length >= BATCH_LINES || this.#keysAfterDoubt >= KEYS_AFTER_DOUBT;
      if (!isFull) continue;
      await this.#flush();
      await onProgress({ objects, key: last });
      this.#signal.throwIfAborted();
    }
    await this.#flush();
    await onProgress({ objects, key: last });
  }

  #emit(line: AuditLine, doubt: Doubt | null): void {
    if (doubt !== null) this.#doubtful ??= this.#merged.marked;
    this.#batch.push({ line, doubt });
  }

  /** A3 */
  async #flush(): Promise<void> {
    const batch = this.#batch;
    const starts = this.#doubtful;
    this.#batch = [];
    this.#doubtful = null;
    this.#keysAfterDoubt = 0;
    if (starts === null) {
      for (const { line } of batch) this.#onLine(line);
      return;
    }
    const doubtful = batch.flatMap(({ line, doubt }) => (doubt === null ? [] : [{ line, doubt }]));
    const resolved = await this.#look.resolve(doubtful, starts, this.#signal);
    for (const { line, doubt } of batch) {
      const final = doubt === null ? line : resolved.get(line);
      if (final != null) this.#onLine(final);
    }
  }
}
