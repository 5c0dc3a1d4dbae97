// Prepare: turns what a handler requested into the value that the ledger commits. Before that, bad
// rows go to the quarantine, the message to the archive, and the effects to an idempotent sink.
//   R1. Nothing is prepared under a lease that may be lost, although the ledger rejects old fences
//       anyway: an aborted handler must not commit by luck.
//   R2. A sink has the same timeout as a handler. A sink that exceeds it counts as down, which is
//       not the record's fault. Without a timeout it would keep its slot as long as its lease.
//   R3. The ledger stores a summary of the effects. A failure to summarise never blocks the commit:
//       an idempotent sink has applied the effects by then.
//   R4. Quarantined rows are stored before the commit, whose summary refers to them: both count or
//       neither (Q2 of quarantine.ts).
//   R5. A state from a listing has no sequencer. Sinks get the one that the ledger will store for
//       the object, and the summary has it, so that an audit can order commits. A state that the
//       bucket no longer has as its current one is committed without effects.
//   R6. A message is archived before the commit, whose summary refers to it, and before an
//       idempotent sink writes. So a committed record of an archiving pipeline has its message.
//   R7. Sinks get the event time that the ledger recorded first, as the handler does (C8 of
//       claim.ts): a replay finds the rows of a record by it. A direct commit stores its own.

import type { SecretValues } from "../../core/encoding/secrets.ts";
import { sequencerAfter } from "../../core/events/sequencer.ts";
import { encodeInputHash, type InputHash } from "../../core/input-hash.ts";
import type { SinkWrite } from "../../core/sink-write.ts";
import { sqlWrite } from "../../core/sql-statement.ts";
import { msBetween } from "../../core/units.ts";
import { recordKey } from "../../ledger/record-key.ts";
import { fenceOf } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Commit } from "../../ports/ledger.ts";
import type { Effect, EffectOrigin, Sink, StagedRows } from "../../ports/sink.ts";
import type { ArchiveRecord } from "../archive/archive-record.ts";
import type { MaskedMessage } from "../archive/archived-form.ts";
import type { BadRow, QuarantineRef } from "../quarantine/quarantine.ts";
import type { StoreQuarantine } from "../quarantine/store-quarantine.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import type { TimeLimit } from "./attempt.ts";
import type { Claim } from "./claim.ts";
import type { WorkRecord } from "./decode.ts";
import { digestOfEffects } from "./effects/effects-digest.ts";
import { effectCounts, summariseEffects } from "./effects/effects-summary.ts";

/** Nothing was written: the lease was lost before (R1), or the sink or the ledger failed. */
export type Uncommitted =
  | { readonly kind: "lost"; readonly reason: string }
  | { readonly kind: "failed"; readonly error: unknown; readonly secrets: SecretValues };

/** The commit of one record, ready to be written. */
export interface PreparedCommit {
  readonly kind: "prepared";
  readonly write: Omit<Commit, "fence">;
  readonly staged: StagedRows | null;
  /** The quarantined rows that the record redrives, and that its commit ends. */
  readonly redriven: QuarantineRef | null;
  readonly secrets: SecretValues;
}

/** What a handler leaves to be committed. */
export interface Work {
  readonly effects: readonly Effect[];
  /** The rows of a large record, staged in the sink's database; `effects` has the statements. */
  readonly staged: StagedRows | null;
  /** The content hash of staged effects; else null. */
  readonly digest: string | null;
  /** Rows that the schema rejected, to be quarantined by the commit (R4). */
  readonly badRows: readonly BadRow[];
  /** Masked values that an error of the sink may quote. */
  readonly secrets: SecretValues;
  /** The message as it may be stored, if `govern` had it masked; else null. */
  readonly masked: MaskedMessage | null;
  /** Of the object or the message that was handled. */
  readonly input: InputHash;
}

/** All before the ledger call: an idempotent sink applies its effects here. Never rejects. */
export type PrepareStage = (
  record: WorkRecord,
  claim: Claim,
  work: Work,
  inFlight: InFlightDelivery,
) => Promise<PreparedCommit | Uncommitted>;

export interface PreparePorts {
  readonly clock: Clock;
  readonly sink: Sink | null;
  /** Ends a sink that takes too long (R2). */
  readonly inTime: TimeLimit;
  /** Stores rows that the schema rejected (R4). */
  readonly quarantine: StoreQuarantine;
  /** Archives the message (R6). */
  readonly archive: ArchiveRecord;
}

/** Turns work into the value that the ledger commits. */
export function createPrepareStage(ports: PreparePorts, pipeline: Pipeline): PrepareStage {
  const prepare = createPreparation(ports, pipeline);
  return async (record, claim, work, inFlight) => {
    const prepared = await prepare(record, claim, work, inFlight);
    if (prepared.kind !== "prepared") discardStaged(work.staged);
    return prepared;
  };
}

function createPreparation(ports: PreparePorts, pipeline: Pipeline): PrepareStage {
  const { clock, sink, inTime, quarantine, archive } = ports;
  return async (record, claim, work, inFlight) => {
    const { effects, staged, digest, badRows, secrets, input } = work;
    const isCurrent = claim.confirmed?.isCurrent !== false; // R5
    const origin = originOf(record, claim, pipeline);
    if (!inFlight.alive()) return { kind: "lost", reason: "the lease ran out before the commit" }; // R1
    try {
      checkStatements(sink, effects);
      // First, because it throws if the sink rejects the effects.
      const writes = isCurrent ? writesOf(sink, effects, staged, origin) : [];
      const bad = await quarantine({ record, claim, rows: badRows, inFlight }); // R4
      const archived = await archive(record, work.masked, inFlight); // R6
      const isLost = archived !== null && !inFlight.alive(); // R1
      if (isLost) return { kind: "lost", reason: "the lease ran out in the archive" };
      const fence = claim.fence ?? fenceOf(claim.startedAt);
      const apply = (signal: AbortSignal) =>
        staged?.mode === "idempotent"
          ? staged.apply({ ...origin, fence }, signal)
          : sink?.mode === "idempotent"
            ? sink.apply(effects, { ...origin, fence }, signal)
            : Promise.resolve();
      // An object without effects may have had some before, which the sink must remove.
      const any = effects.length > 0 || staged !== null || origin.object !== null;
      const applies = sink?.mode === "idempotent" && (any || sink.appliesEmpty === true);
      if (applies && isCurrent) {
        await inTime(inFlight, apply);
        if (!inFlight.alive()) return { kind: "lost", reason: "the lease ran out in the sink" };
      }
      const counts = new Map([...(staged?.counts ?? []), ...effectCounts(effects)]);
      const tookMs = msBetween(claim.startedAt, clock.now());
      const quarantined = bad && { set: bad.set, rows: badRows.length };
      const redriven = redrivenBy(record);
      const redrives = redriven && { of: redriven.of, set: redriven.set };
      const facts = {
        ...(quarantined && { quarantined }),
        ...(redrives && { redrives }),
        ...(archived && { archived }),
      };
      const hash = encodeInputHash(input);
      const described = { tookMs, hash, ...facts, ...placeOf(record, claim) }; // R4, R5, R6
      const summary = summariseEffects(counts, described);
      const result = digest ?? digestOfEffects(effects);
      const write = writeOf(record, claim, { digest: result, summary, writes });
      return { kind: "prepared", write, staged, redriven, secrets };
    } catch (error) {
      return { kind: "failed", error, secrets };
    }
  };
}

function writesOf(
  sink: Sink | null,
  effects: readonly Effect[],
  staged: StagedRows | null,
  origin: EffectOrigin,
): readonly SinkWrite[] {
  if (staged?.mode === "transactional" && sink?.mode === "transactional") {
    return [...staged.merge(origin), ...statementWrites(effects, sink.dialect)];
  }
  return sink?.mode === "transactional" ? sink.plan(effects, origin) : [];
}

/** The statements among the effects, for the ledger's transaction. */
function statementWrites(effects: readonly Effect[], dialect: "sqlite" | "postgres"): SinkWrite[] {
  return effects.flatMap((effect) => (effect.kind === "sql" ? [sqlWrite(effect, dialect)] : []));
}

/** Only a transaction with the ledger runs a statement once (K1 of ports/sink.ts). */
function checkStatements(sink: Sink | null, effects: readonly Effect[]): void {
  if (sink?.mode === "transactional" || !effects.some(({ kind }) => kind === "sql")) return;
  const message = "sql() needs sink: tables({...}) or sql() in the ledger's database";
  throw new PermanentError(message, { class: "sql" });
}

/** In the background: a sweep removes what stays (S3 of sinks/table/stage.ts). */
export function discardStaged(staged: StagedRows | null): void {
  staged?.discard().catch(() => undefined);
}

function redrivenBy({ content }: WorkRecord): QuarantineRef | null {
  return content.kind === "object" ? (content.redriven ?? null) : null;
}

function writeOf(
  record: WorkRecord,
  { confirmed }: Claim,
  outcome: {
    readonly digest: string;
    readonly summary: string;
    readonly writes: readonly SinkWrite[];
  },
): PreparedCommit["write"] {
  const { digest, summary, writes } = outcome;
  const { key } = record;
  const object = record.object && { ...record.object, ...(confirmed && { confirmed }) };
  // A redrive adds rows to a version that was applied before, and is not an event of the object.
  const advances = object !== null && redrivenBy(record) === null;
  return {
    key,
    digest,
    effects: summary,
    ...(advances && { object }),
    ...(writes.length > 0 && { writes }),
  };
}

/** The place that the ledger gives a listed state with the commit (R5). */
function placeOf({ object }: WorkRecord, { confirm }: Claim): { readonly sequencer?: string } {
  const isListed = object?.listed === true && confirm !== undefined;
  return isListed ? { sequencer: sequencerAfter(confirm) } : {};
}

function originOf(
  record: WorkRecord,
  claim: Claim,
  { onRemoved, name, generation }: Pipeline,
): EffectOrigin {
  const { key, object: ref, content } = record;
  const { eventTime } = claim.input; // R7
  const object = ref && { ...ref, ...placeOf(record, claim) };
  // Only events that change an object's bytes concern the rows made from it.
  const kind = content.kind === "object" ? content.event.kind : null;
  const removes = kind === "removed" && onRemoved !== "ignore";
  const changed = object !== null && (kind === "created" || removes);
  if (!changed) return { key, eventTime, object: null };
  const { bucket, key: objectKey, sequencer } = object;
  const version = { bucket, key: objectKey, sequencer, removed: kind === "removed" };
  if (content.kind !== "object" || content.redriven === undefined) {
    return { key, eventTime, object: version };
  }
  const addsTo = recordKey({ pipeline: name, generation }, content.event.event_key);
  return { key, eventTime, object: { ...version, addsTo } };
}
