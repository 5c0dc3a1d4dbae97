// Second look: what looked missing or orphaned is read again before it is reported.
//   S1. An object whose event is queued, or that is younger than the grace period, is waiting.
//   S2. Bucket, ledger and sink are read again. The lists of the audit were read at different
//       times, so an object that changed between them may look wrong.
//   S3. The object's row in the ledger is asked last. It names the state that was applied last,
//       also if masks hide the key in the records, and if the clocks of consumers differ: a listed
//       record without a stored place is compared with events by the time of commits (M3 of
//       record-match.ts).
//   S4. What the ledger may have forgotten is unknown, never missing. So is an object whose event
//       may be in a queue that cannot be read.
//   S5. A removal has no time of its own, so an object that looks removed is read again after a
//       pause. After PAUSES_MAX pauses the rest is unknown.
//   S6. A batch of doubts is resolved together: each list is read again once, from the page of the
//       first doubt to that of the last, and rows of objects by LOOKS_AT_ONCE. So an audit of a
//       million missing objects reads every page twice. Memory holds the lines in doubt only.

import { compareUtf8 } from "../core/encoding/utf8-order.ts";
import { REMOVED_STATE } from "../core/events/object-identity.ts";
import { addMs, type DurationMs, type EpochMs, subtractMs } from "../core/units.ts";
import { LEDGER_BATCH_MAX } from "../ledger/batches.ts";
import type { AuditStatus } from "../ports/audit.ts";
import type { Clock } from "../ports/clock.ts";
import type { EffectLister } from "../ports/effect-lister.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { ListedObject, ObjectLister } from "../ports/objects/object-lister.ts";
import type { LedgerScope, RecordKey } from "../ports/record.ts";
import type { AuditLine } from "./audit-line.ts";
import { type Doubt, type JudgeContext, KeyJudge } from "./judge-key.ts";
import { MergedKeys, type MergeStarts, NEEDS_PAGE, type OpenKey } from "./merged-keys.ts";
import type { QueueSnapshot } from "./queue-snapshot.ts";
import { stateOfListed } from "./record-match.ts";

export interface LookPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly lister: ObjectLister;
  readonly effects: readonly EffectLister[];
}

export interface LookOptions {
  readonly bucket: string;
  readonly prefix: string;
  readonly context: JudgeContext;
  readonly startedAt: EpochMs;
  readonly graceMs: DurationMs;
  /** How long to wait before a removal is looked for again (S5). */
  readonly pauseMs: DurationMs;
  /** How long the ledger keeps records. */
  readonly retentionMs: DurationMs;
  readonly queue: QueueSnapshot;
}

const PAUSES_MAX = 3;
/** Rows of objects that are read at the same time (S6). */
const LOOKS_AT_ONCE = 16;

/** A line whose doubt is to be resolved. */
export interface DoubtfulLine {
  readonly line: AuditLine;
  readonly doubt: Doubt;
}

/** A line of a second look; it may be in doubt again. */
interface JudgedLine {
  readonly line: AuditLine;
  readonly doubt: Doubt | null;
}

/** The final lines; null if there is nothing to say. */
export type Resolved = ReadonlyMap<AuditLine, AuditLine | null>;

export class SecondLook {
  readonly #ports: LookPorts;
  readonly #options: LookOptions;
  #scopes: Promise<readonly LedgerScope[]> | null = null;
  #pauses = 0;

  constructor(ports: LookPorts, options: LookOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  /** Resolves the doubts of a batch, in the order of keys; `starts` are the pages of the first. */
  async resolve(
    doubtful: readonly DoubtfulLine[],
    starts: MergeStarts,
    signal: AbortSignal,
  ): Promise<Resolved> {
    await this.#pauseFor(doubtful, signal);
    const resolved = new Map<AuditLine, AuditLine | null>();
    const again: DoubtfulLine[] = [];
    const strays: DoubtfulLine[] = [];
    for (const each of doubtful) {
      const waiting = this.#waiting(each);
      if (waiting !== null) resolved.set(each.line, waiting);
      else if (each.doubt.kind === "no-record") strays.push(each);
      else again.push(each);
    }
    const fresh = await this.#judgeAgain(again, starts, signal); // S2
    for (let at = 0; at < again.length; at += LOOKS_AT_ONCE) {
      const some = again.slice(at, at + LOOKS_AT_ONCE); // S6
      const finals = await Promise.all(some.map((each) => this.#final(each, fresh.get(each.line))));
      for (const [nth, { line }] of some.entries()) resolved.set(line, finals[nth] ?? null);
    }
    const explained = await this.#explained(strays);
    for (const { line, doubt } of strays) {
      const isExplained = doubt.kind === "no-record" && explained.has(doubt.effect.recordKey);
      resolved.set(line, isExplained ? null : line);
    }
    return resolved;
  }

  /** Waits before removals are looked for again; once for a batch (S5). */
  async #pauseFor(doubtful: readonly DoubtfulLine[], signal: AbortSignal): Promise<void> {
    if (!doubtful.some(({ doubt }) => doubt.kind === "not-removed")) return;
    this.#pauses += 1;
    if (this.#pauses > PAUSES_MAX || this.#options.pauseMs === 0) return;
    await this.#ports.clock.sleep(this.#options.pauseMs, signal);
  }

  /** What needs no second look; null if it does (S1). */
  #waiting({ line, doubt }: DoubtfulLine): AuditLine | null {
    const { startedAt, graceMs, queue } = this.#options;
    if (doubt.kind === "not-removed") {
      const isQueued = queue.has(line.key, REMOVED_STATE);
      return isQueued ? say(line, "waiting", "its removal is in the queue") : null;
    }
    if (doubt.kind !== "not-applied") return null;
    if (queue.has(line.key, stateOfListed(doubt.version))) {
      return say(line, "waiting", "its event is in the queue");
    }
    const isYoung = line.at > subtractMs(startedAt, graceMs);
    if (!isYoung) return null;
    const isEmpty = queue.messages === 0;
    const where = isEmpty ? "its event is not in the queue; it may" : "its event may";
    return say(line, "waiting", `new, and ${where} still arrive`);
  }

  /** `same` is what fresh reads say about the line; undefined if it is not there any more. */
  async #final({ line, doubt }: DoubtfulLine, same: JudgedLine | undefined): Promise<AuditLine> {
    if (doubt.kind === "not-removed") return this.#notRemoved(line, same);
    if (same === undefined) return say(line, "superseded", "replaced or deleted meanwhile");
    if (same.doubt === null) return same.line;
    if (doubt.kind === "not-applied") return this.#notApplied(line, doubt.version);
    if (same.doubt.kind !== "not-applied") return same.line;
    const { version } = same.doubt;
    const waiting = this.#waiting({ line: same.line, doubt: same.doubt });
    return waiting ?? this.#notApplied(same.line, version);
  }

  async #notApplied(line: AuditLine, version: ListedObject): Promise<AuditLine> {
    const { queue, retentionMs, bucket, context } = this.#options;
    const row = await this.#ports.ledger.showObject(context.scope, bucket, line.key); // S3
    if (row?.applied?.state === stateOfListed(version)) {
      return { ...line, status: "committed", reason: "" };
    }
    if (addMs(line.at, retentionMs) <= this.#ports.clock.now()) {
      return say(line, "unknown", "older than the ledger remembers"); // S4
    }
    if (queue.settledBefore === null || line.at >= queue.settledBefore) {
      return say(line, "unknown", "its event may be in the queue, which cannot be read"); // S4
    }
    return line;
  }

  async #notRemoved(line: AuditLine, same: JudgedLine | undefined): Promise<AuditLine> {
    if (same === undefined) return say(line, "gone", "removed meanwhile");
    if (same.doubt === null) return same.line;
    if (same.doubt.kind !== "not-removed") return say(line, "gone", "removed meanwhile");
    const { queue, bucket, context } = this.#options;
    const row = await this.#ports.ledger.showObject(context.scope, bucket, line.key); // S3
    if (row?.applied?.state === REMOVED_STATE) return say(line, "gone", "its removal is applied");
    const isReadable = queue.kind === "exact" || queue.messages === 0;
    if (isReadable && this.#pauses <= PAUSES_MAX) return line;
    return say(line, "unknown", "its removal may be in the queue, which cannot be read"); // S4, S5
  }

  /** The records of effects that are not orphans, though the ledger did not list them. */
  async #explained(strays: readonly DoubtfulLine[]): Promise<ReadonlySet<RecordKey>> {
    const { context, retentionMs } = this.#options;
    const { ledger, clock } = this.#ports;
    const explained = new Set<RecordKey>();
    if (strays.length === 0) return explained;
    const now = clock.now();
    const open = new Set<RecordKey>();
    for (const { doubt } of strays) {
      if (doubt.kind !== "no-record") continue;
      const { recordKey, fence, eventTime } = doubt.effect;
      const writtenAt = Math.max(fence, eventTime) as EpochMs;
      if (addMs(writtenAt, retentionMs) <= now)
        explained.add(recordKey); // S4
      else open.add(recordKey);
    }
    // Another pipeline may write to the same table, so its records explain effects, too (S2).
    for (const scope of [context.scope, ...(await this.#otherScopes())]) {
      const keys = [...open];
      for (let at = 0; at < keys.length; at += LEDGER_BATCH_MAX) {
        const some = keys.slice(at, at + LEDGER_BATCH_MAX);
        const has = await ledger.hasRecords(scope, some);
        for (const [nth, key] of some.entries()) {
          if (has[nth] !== true) continue;
          open.delete(key);
          explained.add(key);
        }
      }
    }
    return explained;
  }

  #otherScopes(): Promise<readonly LedgerScope[]> {
    this.#scopes ??= this.#ports.ledger
      .stats()
      .then((all) => all.map(({ pipeline, generation }) => ({ pipeline, generation })));
    return this.#scopes;
  }

  /** What fresh reads say about each line, in one pass over the pages of the doubts (S6). */
  async #judgeAgain(
    doubtful: readonly DoubtfulLine[],
    starts: MergeStarts,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<AuditLine, JudgedLine>> {
    const fresh = new Map<AuditLine, JudgedLine>();
    const last = doubtful.at(-1)?.line.key;
    if (last === undefined) return fresh;
    const { context } = this.#options;
    const byKey = Map.groupBy(doubtful, ({ line }) => line.key);
    const openKey: OpenKey = (key, versions, effects) => {
      const lines = byKey.get(key);
      if (lines === undefined) return null;
      return new KeyJudge(context, key, versions, effects, (line, doubt) => {
        for (const each of lines) {
          if (isSame(each, line)) fresh.set(each.line, { line, doubt });
        }
      });
    };
    const merged = new MergedKeys(
      this.#ports,
      { ...this.#options, ...context },
      openKey,
      signal,
      starts,
    );
    for (;;) {
      const key = merged.step();
      if (key === NEEDS_PAGE) await merged.fill();
      else if (key === null || compareUtf8(key, last) >= 0) return fresh;
    }
  }
}

/** Whether a line of fresh reads is about the same version, or the same record if that is gone. */
function isSame({ line, doubt }: DoubtfulLine, other: AuditLine): boolean {
  if (doubt.kind === "not-removed") return other.records[0] === line.records[0];
  return other.versionId === line.versionId && other.etag === line.etag && other.at === line.at;
}

function say(line: AuditLine, status: AuditStatus, reason: string): AuditLine {
  return { ...line, status, reason };
}
