// Run audit: merges bucket, ledger and sink by object key, and judges key by key.
//   A1. All three lists are in the order of UTF-8 bytes, so one pass finds what belongs together.
//       Memory holds two pages of each list and the lines of one batch.
//   A2. The queue is read first (Q1 of queue-snapshot.ts), then the lists.
//   A3. Lines leave in the order of keys. A batch waits for the second look at its doubtful lines.
//   A4. Nothing is written.

import { assert, present } from "../core/assert.ts";
import { compareUtf8 } from "../core/encoding/utf8-order.ts";
import type { DurationMs, EpochMs } from "../core/units.ts";
import type { ListedEffect } from "../ports/effect-lister.ts";
import type { ListedRecord } from "../ports/ledger.ts";
import type { ListedObject } from "../ports/object-lister.ts";
import type { AuditLine } from "./audit-line.ts";
import { type Doubt, type JudgeContext, KeyJudge } from "./judge-key.ts";
import { PageCursor } from "./page-cursor.ts";
import type { QueueSnapshot } from "./queue-snapshot.ts";
import { type LookPorts, SecondLook } from "./second-look.ts";

export interface AuditPorts extends LookPorts {
  /** Reads the queue of the pipeline. */
  readonly readQueue: () => Promise<QueueSnapshot>;
}

export interface AuditOptions extends Omit<JudgeContext, "hasSink" | "inWindow"> {
  readonly bucket: string;
  readonly prefix: string;
  /** Objects last modified at this time or later; null: all. */
  readonly from: EpochMs | null;
  /** Exclusive; at most the time of the start. */
  readonly to: EpochMs;
  readonly startedAt: EpochMs;
  readonly graceMs: DurationMs;
  readonly pauseMs: DurationMs;
  readonly retentionMs: DurationMs;
}

export interface AuditProgress {
  readonly objects: number;
  /** The key that was judged last. */
  readonly key: string;
}

const PAGE_RECORDS = 1_000;
const BATCH_LINES = 1_000;

/** Audits a window; calls `onLine` for each object version, in the order of keys. */
export async function runAudit(
  ports: AuditPorts,
  options: AuditOptions,
  onLine: (line: AuditLine) => void,
  signal: AbortSignal,
  onProgress: (progress: AuditProgress) => void = () => undefined,
): Promise<QueueSnapshot> {
  const queue = await ports.readQueue(); // A2
  const audit = new Audit(ports, options, queue, onLine, signal);
  await audit.run(onProgress);
  return queue;
}

interface Pending {
  readonly line: AuditLine;
  readonly doubt: Doubt | null;
}

class Audit {
  readonly #signal: AbortSignal;
  readonly #onLine: (line: AuditLine) => void;
  readonly #context: JudgeContext;
  readonly #look: SecondLook;
  readonly #objects: PageCursor<ListedObject>;
  readonly #records: PageCursor<ListedRecord>;
  readonly #effects: readonly PageCursor<ListedEffect>[];
  #batch: Pending[] = [];
  #doubts = 0;

  constructor(
    ports: AuditPorts,
    options: AuditOptions,
    queue: QueueSnapshot,
    onLine: (line: AuditLine) => void,
    signal: AbortSignal,
  ) {
    const { bucket, prefix, from, to, scope, isHeld, handlesRemovals } = options;
    this.#signal = signal;
    this.#onLine = onLine;
    const inWindow = (at: EpochMs) => at < to && (from === null || at >= from);
    const hasSink = ports.effects.length > 0;
    this.#context = { scope, isHeld, handlesRemovals, hasSink, inWindow };
    this.#look = new SecondLook(ports, { ...options, context: this.#context, queue });
    this.#objects = new PageCursor(async (after) => {
      const { objects, next } = await ports.lister.list({ bucket, prefix, after }, signal);
      return { items: objects, next };
    });
    this.#records = new PageCursor(async (after) => {
      const page = { after, limit: PAGE_RECORDS };
      const query = { by: "object", bucket, prefix } as const;
      const { records, next } = await ports.ledger.listRecords(scope, query, page);
      return { items: records, next };
    });
    this.#effects = ports.effects.map(
      (lister) =>
        new PageCursor(async (after) => {
          const { effects, next } = await lister.list({ bucket, prefix, after });
          return { items: effects, next };
        }),
    );
  }

  async run(onProgress: (progress: AuditProgress) => void): Promise<void> {
    let objects = 0;
    let last = "";
    for (;;) {
      if (this.#needsPage()) await this.#fill();
      const key = this.#leastKey();
      if (key === null) break;
      assert(objects === 0 || compareUtf8(last, key) < 0, `${key} is listed out of order`); // A1
      last = key;
      await this.#judge(key);
      objects += 1;
      if (this.#batch.length < BATCH_LINES) continue;
      await this.#flush();
      onProgress({ objects, key });
      this.#signal.throwIfAborted();
    }
    await this.#flush();
    onProgress({ objects, key: last });
  }

  #needsPage(): boolean {
    if (this.#objects.needsPage || this.#records.needsPage) return true;
    return this.#effects.some(({ needsPage }) => needsPage);
  }

  async #fill(): Promise<void> {
    await Promise.all([this.#objects, this.#records, ...this.#effects].map((each) => each.fill()));
  }

  #leastKey(): string | null {
    let least = this.#objects.head?.key ?? null;
    const consider = (key: string | undefined) => {
      if (key !== undefined && (least === null || compareUtf8(key, least) < 0)) least = key;
    };
    consider(this.#records.head?.input.object?.key);
    for (const { head } of this.#effects) consider(head?.key);
    return least;
  }

  /** Judges one key; awaits only at the end of a page. */
  async #judge(key: string): Promise<void> {
    const versions: ListedObject[] = [];
    for (let head = this.#objects.head; head?.key === key; head = this.#objects.head) {
      versions.push(head);
      this.#objects.advance();
      if (this.#objects.needsPage) await this.#objects.fill();
    }
    const effects: ListedEffect[] = [];
    for (const cursor of this.#effects) {
      if (cursor.head?.key !== key) continue;
      effects.push(present(cursor.head, "an effect"));
      cursor.advance();
    }
    const judge = new KeyJudge(this.#context, key, versions, effects, (line, doubt) => {
      if (doubt !== null) this.#doubts += 1;
      this.#batch.push({ line, doubt });
    });
    const records = this.#records;
    for (let head = records.head; head?.input.object?.key === key; head = records.head) {
      judge.record(head);
      records.advance();
      if (records.needsPage) await records.fill();
      if (this.#batch.length >= BATCH_LINES) await this.#flush();
    }
    judge.finish();
  }

  /** A3 */
  async #flush(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    if (this.#doubts > 0) {
      const doubts = batch.flatMap(({ doubt }) => doubt ?? []);
      await this.#look.pauseFor(doubts, this.#signal);
    }
    this.#doubts = 0;
    for (const { line, doubt } of batch) {
      const final = doubt === null ? line : await this.#look.resolve({ line, doubt }, this.#signal);
      if (final !== null) this.#onLine(final);
    }
  }
}
