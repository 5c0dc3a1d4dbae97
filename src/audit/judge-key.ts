// Judge key: the status of every version of one object, from what bucket, ledger and sink have of
// it. Pure: a status that needs a second look comes with its doubt (second-look.ts).
//   J1. A version has one line. Versions that the bucket has come from the listing; a record whose
//       version the bucket does not have adds a line of its own, which is never missing.
//   J2. Records of an object arrive one by one, and only those of listed versions are kept, so an
//       object that is overwritten a million times costs no memory.
//   J3. With versions, one applied record makes a version committed, and two make it double.
//       Without versions, the same bytes may come back: the newest applied record must be about the
//       bytes that the bucket has.
//   J4. Only the current version can be missing. The ledger rejects events of older ones as stale,
//       without a record. Below a delete marker, nothing is current.
//   J5. A listed record and an event of the same bytes without versions are double only if nothing
//       else was applied between them. The clocks of two commits may differ.
//   J6. The sink must not be behind the ledger, as a sink is that was restored from an older copy.
//       Only sequencers and places prove it: an effect of a record without one is not compared.
//   J7. Of the records about the same bytes without versions, the newest MATCHES_MAX are compared:
//       an object that is written again with the same bytes a million times costs no memory.

import { unreachable } from "../core/assert.ts";
import { compareSequencers } from "../core/events/sequencer.ts";
import { type EpochMs, minutes } from "../core/units.ts";
import type { AuditStatus } from "../ports/audit.ts";
import type { ListedEffect } from "../ports/effect-lister.ts";
import type { ListedObject } from "../ports/objects/object-lister.ts";
import type { Failure, LedgerScope, RecordKey } from "../ports/record.ts";
import type { AuditLine } from "./audit-line.ts";
import {
  type AuditedRecord,
  type AuditedState,
  compareApplied,
  isAbout,
  kindOfRecord,
  type MatchKind,
  placeOfRecord,
} from "./record-match.ts";

/** What an audit needs to know to judge. */
export interface JudgeContext {
  readonly scope: LedgerScope;
  /** Whether a parked record with this failure is held, not dead-lettered. */
  readonly isHeld: (failure: Failure) => boolean;
  /** Whether the pipeline ingests removals, so that rows of deleted objects must go. */
  readonly handlesRemovals: boolean;
  /** Whether the source has a filter that ignores the key, so that it needs no effect. */
  readonly isFiltered: (key: string) => boolean;
  /** Whether effects are compared, too. */
  readonly hasSink: boolean;
  readonly inWindow: (at: EpochMs) => boolean;
}

/** Why a line is not final yet. */
export type Doubt =
  /** The current version has no applied record. */
  | { readonly kind: "not-applied"; readonly version: ListedObject }
  /** Committed, but the sink has nothing of the object, or an older version (J6). */
  | { readonly kind: "no-effect"; readonly version: ListedObject }
  /** Deleted, and the removal was not applied. */
  | { readonly kind: "not-removed" }
  /** The sink names a record that the ledger did not list. */
  | { readonly kind: "no-record"; readonly effect: ListedEffect };

export type Emit = (line: AuditLine, doubt: Doubt | null) => void;

interface Match {
  readonly key: RecordKey;
  readonly kind: MatchKind;
  readonly status: AuditStatus;
  /** Its place among the records of the object; null if it has none. */
  readonly sequencer: string | null;
  readonly changedAt: EpochMs;
  readonly listed: AuditedRecord;
}

interface VersionEntry {
  readonly version: ListedObject;
  matches: Match[];
}

/** How far clocks may differ when commits are compared by time (J5). */
const CLOCKS_DIFFER_MS = minutes(1);
const OTHERS_MAX = 1_000;
/** Matches of one version that are kept (J7). */
const MATCHES_MAX = 1_000;
/** Versions of an object that are searched one by one. */
const SEARCHED_MAX = 4;

export class KeyJudge {
  readonly #context: JudgeContext;
  readonly #key: string;
  readonly #emit: Emit;
  readonly #entries: VersionEntry[];
  /** Null if there are few: most objects have one version, and then a search costs less. */
  readonly #byVersion: ReadonlyMap<string | null, VersionEntry> | null;
  readonly #effects: readonly ListedEffect[];
  /**
   * For each effect, the sequencer of its record if that was applied, else null; undefined if the
   * ledger has not listed the record (J6).
   */
  #named: (string | null | undefined)[] | null = null;
  #otherCommits: EpochMs[] | null = null;
  #newest: Match | null = null;
  /** The newest applied record, if the bucket does not have its version. */
  #newestGone: Match | null = null;

  constructor(
    context: JudgeContext,
    key: string,
    versions: readonly ListedObject[],
    effects: readonly ListedEffect[],
    emit: Emit,
  ) {
    this.#context = context;
    this.#key = key;
    this.#effects = effects;
    this.#emit = emit;
    this.#entries = versions.map((version) => ({ version, matches: [] }));
    this.#byVersion =
      versions.length <= SEARCHED_MAX
        ? null
        : new Map(this.#entries.map((entry) => [entry.version.versionId, entry]));
  }

  /** Adds a record of the object, in any order (J2). */
  record(listed: AuditedRecord): void {
    const { key, record, input } = listed;
    this.#name(key, null);
    const about = this.#entryOf(listed);
    const kind = kindOfRecord(this.#context.scope, listed, about?.version.lastModified ?? null);
    if (kind === "other" || input.object === null) return;
    const status = this.#statusOf(record);
    const sequencer = placeOfRecord(listed);
    if (status === "committed") this.#name(key, sequencer);
    const match: Match = { key, kind, status, sequencer, changedAt: record.changedAt, listed };
    const entry = kind === "removed" ? undefined : about;
    const isNewest = status === "committed" && isNewer(match, this.#newest);
    const isOther = status === "committed" && entry === undefined;
    if (isOther) this.#addOther(match.changedAt);
    if (isNewest) {
      this.#newest = match;
      if (this.#newestGone !== null) this.#gone(this.#newestGone);
      this.#newestGone = null;
    }
    if (entry !== undefined) addMatch(entry, match);
    else if (kind === "removed") return;
    else if (isNewest) this.#newestGone = match;
    else this.#gone(match);
  }

  /** Emits the remaining lines. */
  finish(): void {
    const isOrphan = this.#notRemoved();
    if (this.#newestGone !== null) {
      if (isOrphan) this.#orphan(this.#newestGone);
      else this.#gone(this.#newestGone);
    }
    for (const [at, entry] of this.#entries.entries()) {
      if (!this.#context.inWindow(entry.version.lastModified)) continue;
      const newest = entry.matches.find((match) => match === this.#newest);
      if (isOrphan && newest !== undefined) this.#orphan(newest);
      else {
        const [line, doubt] = this.#judge(entry, at);
        this.#emit(line, doubt);
      }
    }
    for (const [at, effect] of this.#effects.entries()) {
      const isNamed = this.#named?.[at] !== undefined;
      if (isNamed || !this.#context.inWindow(effect.eventTime)) continue;
      const reason = "the sink has rows of a record that the ledger does not have";
      const line = { ...this.#base(effect.eventTime), records: [effect.recordKey], reason };
      this.#emit({ ...line, status: "orphan" }, { kind: "no-record", effect });
    }
  }

  #name(key: RecordKey, sequencer: string | null): void {
    const effects = this.#effects;
    for (let at = 0; at < effects.length; at += 1) {
      if (effects[at]?.recordKey !== key) continue;
      this.#named ??= effects.map(() => undefined);
      this.#named[at] = sequencer;
    }
  }

  #addOther(changedAt: EpochMs): void {
    this.#otherCommits ??= [];
    if (this.#otherCommits.length < OTHERS_MAX) this.#otherCommits.push(changedAt);
  }

  #entryOf({ input }: AuditedRecord): VersionEntry | undefined {
    const { object } = input;
    if (object === null) return undefined;
    const entry =
      this.#byVersion === null
        ? this.#entries.find(({ version }) => version.versionId === object.versionId)
        : this.#byVersion.get(object.versionId);
    return entry !== undefined && isAbout(object, entry.version) ? entry : undefined;
  }

  #statusOf(record: AuditedState): AuditStatus {
    switch (record.kind) {
      case "committed":
        return record.superseded ? "superseded" : "committed";
      case "parked":
        return this.#context.isHeld(record.failure) ? "held" : "dead-lettered";
      case "claimed":
      case "released":
      case "failed":
        return "in-flight";
      default:
        return unreachable(record);
    }
  }

  #base(at: EpochMs): Omit<AuditLine, "status" | "records" | "reason"> {
    return { key: this.#key, versionId: null, etag: null, size: null, at };
  }

  /** The line of a record whose version the bucket does not have (J1). */
  #goneLine({ listed, status, key }: Match): AuditLine {
    const { eventTime, object } = listed.input;
    const { versionId = null, etag = null, size = null } = object ?? {};
    const isGone = status === "committed";
    const reason = isGone ? "committed, and no longer in the bucket" : "no longer in the bucket";
    const line = { ...this.#base(eventTime), versionId, etag, size, records: [key], reason };
    return { ...line, status: isGone ? "gone" : status };
  }

  #gone(match: Match): void {
    const line = this.#goneLine(match);
    if (this.#context.inWindow(line.at)) this.#emit(line, null);
  }

  #orphan(match: Match): void {
    const line = this.#goneLine(match);
    if (!this.#context.inWindow(line.at)) return;
    const reason = "the object was deleted, and its removal was not ingested";
    this.#emit({ ...line, status: "orphan", reason }, { kind: "not-removed" });
  }

  /** Whether the bucket has no current version, and the sink has rows of one. */
  #notRemoved(): boolean {
    if (!this.#context.handlesRemovals || this.#newest === null) return false;
    if (this.#newest.kind === "removed") return false;
    return !this.#entries.some(({ version }) => version.isLatest);
  }

  #judge(entry: VersionEntry, at: number): [AuditLine, Doubt | null] {
    const { version } = entry;
    const matches = newestOf(entry.matches); // J7
    const { versionId, etag, size, lastModified } = version;
    const base = { key: this.#key, versionId, etag, size, at: lastModified };
    const applied = matches.filter(({ status }) => status === "committed");
    const say = (
      status: AuditStatus,
      reason: string,
      of: readonly Match[],
      doubt: Doubt | null = null,
    ): [AuditLine, Doubt | null] => {
      const records = of.map(({ key }) => key).toSorted();
      return [{ ...base, status, reason, records }, doubt];
    };
    if (this.#isDouble(version, applied)) {
      return say("double", `${applied.length} records applied this version`, applied); // J3
    }
    if (applied.length > 0 && this.#isApplied(version, applied)) {
      const isNewest = applied.some((match) => match === this.#newest);
      const loss = version.isLatest && isNewest ? this.#sinkLoss() : null;
      if (loss === null) return say("committed", "", applied);
      return say("missing", loss, applied, { kind: "no-effect", version });
    }
    const open = matches.filter((match) => this.#isOpen(match));
    const [first] = open;
    if (first !== undefined) return say(first.status, openReason(first), open);
    if (version.isLatest && this.#context.isFiltered(this.#key)) {
      return say("ignored", "the filter of the source ignores its key", []);
    }
    if (version.isLatest) {
      const reason = "the ledger has no record of it";
      return say("missing", reason, [], { kind: "not-applied", version });
    }
    if (at === 0) return say("ignored", "deleted before it was ingested", []); // J4
    const superseded = matches.filter(({ status }) => status !== "committed");
    return say("superseded", "a newer version replaced it", superseded); // J4
  }

  /** What the sink lacks of the newest applied record; null if nothing. */
  #sinkLoss(): string | null {
    if (!this.#context.hasSink) return null;
    if (this.#effects.length === 0) return "committed, but the sink has nothing of it";
    const newest = this.#newest?.sequencer ?? null;
    if (newest === null) return null;
    const isOlder = this.#named?.some(
      (written) => written != null && compareSequencers(written, newest) < 0, // J6
    );
    return isOlder === true ? "committed, but the sink has an older version of it" : null;
  }

  /** Whether an applied record is about the current bytes (J3). */
  #isApplied({ versionId, isLatest }: ListedObject, applied: readonly Match[]): boolean {
    if (!isLatest) return true;
    if (versionId !== null) return this.#newest?.kind !== "removed";
    return applied.some((match) => match === this.#newest);
  }

  /** A record that is not settled, and not older than what was applied. */
  #isOpen(match: Match): boolean {
    if (match.status === "committed" || match.status === "superseded") return false;
    const newest = this.#newest;
    if (match.listed.input.object?.versionId != null || newest === null) return true;
    if (match.sequencer === null || newest.sequencer === null) return true;
    return compareSequencers(match.sequencer, newest.sequencer) > 0;
  }

  #isDouble({ versionId }: ListedObject, applied: readonly Match[]): boolean {
    if (applied.length < 2) return false;
    if (versionId !== null) return true; // J3
    const sequencers = applied.flatMap(({ sequencer }) => sequencer ?? []);
    if (new Set(sequencers).size < sequencers.length) return true;
    const listed = applied.filter(({ kind }) => kind === "listed");
    const events = applied.filter(({ kind }) => kind === "created");
    return listed.some((one) => events.some((other) => this.#isAdjacent(one, other)));
  }

  /** J5 */
  #isAdjacent(one: Match, other: Match): boolean {
    const others = this.#otherCommits ?? [];
    if (others.length >= OTHERS_MAX) return false;
    const first = Math.min(one.changedAt, other.changedAt) - CLOCKS_DIFFER_MS;
    const last = Math.max(one.changedAt, other.changedAt) + CLOCKS_DIFFER_MS;
    return !others.some((at) => at >= first && at <= last);
  }
}

/** J7 */
function addMatch(entry: VersionEntry, match: Match): void {
  entry.matches.push(match);
  if (entry.matches.length >= 2 * MATCHES_MAX) entry.matches = newestOf(entry.matches);
}

function newestOf(matches: Match[]): Match[] {
  if (matches.length <= MATCHES_MAX) return matches;
  return matches.toSorted((one, two) => compareApplied(two, one)).slice(0, MATCHES_MAX);
}

/** Whether an applied record is newer (M3 of record-match.ts). */
function isNewer(match: Match, than: Match | null): boolean {
  return than === null || compareApplied(match, than) > 0;
}

function openReason({ listed, status }: Match): string {
  const { record } = listed;
  if (record.kind === "parked") return record.failure.errorClass;
  if (record.kind === "failed") return `retry after ${record.failure.errorClass}`;
  return status === "in-flight" ? "being processed" : "";
}
