// Second look: what looked missing or orphaned is read again before it is reported.
//   S1. An object whose event is queued, or that is younger than the grace period, is waiting.
//   S2. Bucket, ledger and sink are read again for this object alone. The lists of the audit were
//       read at different times, so an object that changed between them may look wrong.
//   S3. The object's row in the ledger is asked last. It names the state that was applied last,
//       also if masks hide the key in the records.
//   S4. What the ledger may have forgotten is unknown, never missing. So is an object whose event
//       may be in a queue that cannot be read.
//   S5. A removal has no time of its own, so an object that looks removed is read again after a
//       pause. After PAUSES_MAX pauses the rest is unknown.

import { unreachable } from "../core/assert.ts";
import { REMOVED_STATE } from "../core/events/object-identity.ts";
import { addMs, type DurationMs, type EpochMs, subtractMs } from "../core/units.ts";
import type { AuditStatus } from "../ports/audit.ts";
import type { Clock } from "../ports/clock.ts";
import type { EffectLister, ListedEffect } from "../ports/effect-lister.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { ListedObject, ObjectLister } from "../ports/object-lister.ts";
import type { LedgerScope } from "../ports/record.ts";
import type { AuditLine } from "./audit-line.ts";
import { type Doubt, type JudgeContext, KeyJudge } from "./judge-key.ts";
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
  readonly context: JudgeContext;
  readonly startedAt: EpochMs;
  readonly graceMs: DurationMs;
  /** How long to wait before a removal is looked for again (S5). */
  readonly pauseMs: DurationMs;
  /** How long the ledger keeps records. */
  readonly retentionMs: DurationMs;
  readonly queue: QueueSnapshot;
}

const RECORDS_MAX = 1_000;
const PAUSES_MAX = 3;

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

export class SecondLook {
  readonly #ports: LookPorts;
  readonly #options: LookOptions;
  #scopes: Promise<readonly LedgerScope[]> | null = null;
  #pauses = 0;

  constructor(ports: LookPorts, options: LookOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  /** Waits before removals are looked for again; once for all doubts that are resolved next. */
  async pauseFor(doubts: readonly Doubt[], signal: AbortSignal): Promise<void> {
    if (!doubts.some(({ kind }) => kind === "not-removed")) return;
    this.#pauses += 1;
    if (this.#pauses > PAUSES_MAX || this.#options.pauseMs === 0) return;
    await this.#ports.clock.sleep(this.#options.pauseMs, signal);
  }

  /** The final line; null if there is nothing to say. */
  async resolve({ line, doubt }: DoubtfulLine, signal: AbortSignal): Promise<AuditLine | null> {
    switch (doubt.kind) {
      case "not-applied":
        return this.#notApplied(line, doubt.version, signal);
      case "no-effect":
        return this.#noEffect(line, signal);
      case "not-removed":
        return this.#notRemoved(line, signal);
      case "no-record":
        return this.#noRecord(line, doubt.effect);
      default:
        return unreachable(doubt);
    }
  }

  async #notApplied(
    line: AuditLine,
    version: ListedObject,
    signal: AbortSignal,
  ): Promise<AuditLine> {
    const { startedAt, graceMs, queue, retentionMs, bucket, context } = this.#options;
    const { key } = line;
    const state = stateOfListed(version);
    if (queue.has(key, state)) return say(line, "waiting", "its event is in the queue"); // S1
    if (line.at > subtractMs(startedAt, graceMs)) {
      return say(line, "waiting", "new, and its event may still arrive"); // S1
    }
    const same = await this.#sameVersion(line, signal); // S2
    if (same === undefined) return say(line, "superseded", "replaced or deleted meanwhile");
    if (same.doubt === null) return same.line;
    const row = await this.#ports.ledger.showObject(context.scope, bucket, key); // S3
    if (row?.applied?.state === state) return { ...line, status: "committed", reason: "" };
    if (addMs(line.at, retentionMs) <= this.#ports.clock.now()) {
      return say(line, "unknown", "older than the ledger remembers"); // S4
    }
    if (queue.settledBefore === null || line.at >= queue.settledBefore) {
      return say(line, "unknown", "its event may be in the queue, which cannot be read"); // S4
    }
    return line;
  }

  async #noEffect(line: AuditLine, signal: AbortSignal): Promise<AuditLine> {
    const same = await this.#sameVersion(line, signal); // S2
    if (same === undefined) return say(line, "superseded", "replaced or deleted meanwhile");
    const { doubt } = same;
    return doubt?.kind === "not-applied"
      ? this.#notApplied(same.line, doubt.version, signal)
      : same.line;
  }

  /** What fresh reads say about the version of a line; undefined if the bucket lost it. */
  async #sameVersion(line: AuditLine, signal: AbortSignal): Promise<JudgedLine | undefined> {
    const fresh = await this.#judgeAgain(line.key, signal);
    return fresh.find(
      ({ line: other }) =>
        other.versionId === line.versionId && other.etag === line.etag && other.at === line.at,
    );
  }

  async #notRemoved(line: AuditLine, signal: AbortSignal): Promise<AuditLine> {
    const { queue } = this.#options;
    if (queue.has(line.key, REMOVED_STATE)) {
      return say(line, "waiting", "its removal is in the queue"); // S1
    }
    const fresh = await this.#judgeAgain(line.key, signal); // S2
    const same = fresh.find(({ line: other }) => other.records[0] === line.records[0]);
    if (same === undefined || same.doubt?.kind !== "not-removed") {
      return same?.doubt === null ? same.line : say(line, "gone", "removed meanwhile");
    }
    const isReadable = queue.kind === "exact" || queue.messages === 0;
    if (isReadable && this.#pauses <= PAUSES_MAX) return line;
    return say(line, "unknown", "its removal may be in the queue, which cannot be read"); // S4, S5
  }

  async #noRecord(line: AuditLine, effect: ListedEffect): Promise<AuditLine | null> {
    const { context, retentionMs } = this.#options;
    const { ledger, clock } = this.#ports;
    if ((await ledger.show(context.scope, effect.recordKey)) !== undefined) return null; // S2
    const writtenAt = Math.max(effect.fence, effect.eventTime) as EpochMs;
    if (addMs(writtenAt, retentionMs) <= clock.now()) return null; // S4
    for (const scope of await this.#otherScopes()) {
      const [has] = await ledger.hasRecords(scope, [effect.recordKey]);
      if (has === true) return null; // Another pipeline writes to the same table.
    }
    return line;
  }

  #otherScopes(): Promise<readonly LedgerScope[]> {
    this.#scopes ??= this.#ports.ledger
      .stats()
      .then((all) => all.map(({ pipeline, generation }) => ({ pipeline, generation })));
    return this.#scopes;
  }

  /** Judges one object from fresh reads (S2). */
  async #judgeAgain(key: string, signal: AbortSignal): Promise<JudgedLine[]> {
    const { bucket, context } = this.#options;
    const { lister, effects, ledger } = this.#ports;
    const versions = await versionsOf(lister, bucket, key, signal);
    const listed = await Promise.all(effects.map((each) => each.find(bucket, key)));
    const lines: JudgedLine[] = [];
    const some = listed.filter((effect) => effect !== null);
    const judge = new KeyJudge(context, key, versions, some, (line, doubt) =>
      lines.push({ line, doubt }),
    );
    const query = { by: "object", bucket, prefix: key } as const;
    for (let after: string | null = null; ; ) {
      const page = { after, limit: RECORDS_MAX };
      const { records, next } = await ledger.listRecords(context.scope, query, page);
      const own = records.filter(({ input }) => input.object?.key === key);
      for (const record of own) judge.record(record);
      if (next === null || own.length < records.length) break;
      after = next;
    }
    judge.finish();
    return lines;
  }
}

/** All versions of one object: they are the first of a listing with its key as prefix. */
async function versionsOf(
  lister: ObjectLister,
  bucket: string,
  key: string,
  signal: AbortSignal,
): Promise<ListedObject[]> {
  const versions: ListedObject[] = [];
  for (let after: string | null = null; ; ) {
    const page = await lister.list({ bucket, prefix: key, after }, signal);
    const own = page.objects.filter((object) => object.key === key);
    versions.push(...own);
    if (page.next === null || own.length < page.objects.length) return versions;
    after = page.next;
  }
}

function say(line: AuditLine, status: AuditStatus, reason: string): AuditLine {
  return { ...line, status, reason };
}
