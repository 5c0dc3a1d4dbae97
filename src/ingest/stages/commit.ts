// Commit: writes a record's outcome and effects in one atomic write.
//   M1. "committed" means that the outcome is durable with all its effects; "superseded", with
//       none. After any other answer, none of the effects happened here. A direct commit that is
//       retried (M3) may be answered as a duplicate of itself.
//   M2. Nothing is committed under a lease that may be lost, although the ledger rejects old fences
//       anyway: an aborted handler must not commit by luck.
//   M3. A commit that the ledger did not answer is repeated unchanged, which is safe. A sink that
//       rejects one record's effects does not fail the other records of the batch.
//   M4. The claim has stored where the record came from. A direct commit stores it with the
//       outcome.
//   M5. A sink has the same timeout as a handler. A sink that exceeds it counts as down, which is
//       not the record's fault. Without a timeout it would keep its slot as long as its lease.
//   M6. The ledger stores a summary of the effects. A failure to summarise never blocks the commit:
//       an idempotent sink has applied the effects by then.
//   M7. Quarantined rows are stored before the commit, whose summary refers to them: both count or
//       neither (Q2 of quarantine.ts).
//   M8. A state from a listing has no sequencer. Sinks get the one that the ledger will store for
//       the object, and the summary has it, so that an audit can order commits. A state that the
//       bucket no longer has as its current one is committed without effects.
//   M9. A message is archived before the commit, whose summary refers to it, and before an
//       idempotent sink writes. So a committed record of an archiving pipeline has its message.
//   M10. Sinks get the event time that the ledger recorded first, as the handler does (C8 of
//       claim.ts): a replay finds the rows of a record by it. A direct commit stores its own.

import { linearBackoff, retryErrors } from "../../core/bounded-retry.ts";
import type { SecretValues } from "../../core/encoding/secrets.ts";
import { TidegateError } from "../../core/errors.ts";
import { sequencerAfter } from "../../core/events/sequencer.ts";
import { encodeInputHash, type InputHash } from "../../core/input-hash.ts";
import type { SinkWrite } from "../../core/sink-write.ts";
import { sqlWrite } from "../../core/sql-statement.ts";
import { type DurationMs, durationMs, msBetween } from "../../core/units.ts";
import { recordKey } from "../../ledger/record-key.ts";
import { fenceOf } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  Commit,
  CommitResult,
  DirectCommit,
  DirectResult,
  Ledger,
} from "../../ports/ledger.ts";
import type { MessageArchive } from "../../ports/message-archive.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Effect, EffectOrigin, Sink, Stage } from "../../ports/sink.ts";
import type { Turn } from "../../ports/turn.ts";
import { archivedForm, type MaskedMessage } from "../archive/archived-form.ts";
import type { BadRow, QuarantineRef } from "../quarantine/quarantine.ts";
import { removeQuarantine, storeQuarantine } from "../quarantine/store-quarantine.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import { beginAttempt } from "./attempt.ts";
import type { Claim } from "./claim.ts";
import type { Deadlines } from "./deadlines.ts";
import type { WorkRecord } from "./decode.ts";
import { digestOfEffects } from "./effects/effects-digest.ts";
import { effectCounts, summariseEffects } from "./effects/effects-summary.ts";
import { createTurnBatcher } from "./turn-batcher.ts";

/** Nothing was written: the lease was lost before (M2), or the sink or the ledger failed. */
export type Uncommitted =
  | { readonly kind: "lost"; readonly reason: string }
  | { readonly kind: "failed"; readonly error: unknown; readonly secrets: SecretValues };

export type CommitOutcome =
  | CommitResult
  | Exclude<DirectResult, { kind: "committed" }>
  | Uncommitted;

/** The commit of one record, ready to be written. */
export interface PreparedCommit {
  readonly kind: "prepared";
  readonly write: Omit<Commit, "fence">;
  readonly stage: Stage | null;
  /** The quarantined rows that the record redrives, and that its commit ends. */
  readonly redriven: QuarantineRef | null;
  readonly secrets: SecretValues;
}

/** The effects of a handler, to be committed. */
export interface Work {
  readonly effects: readonly Effect[];
  /** Set if the rows are staged; then `effects` has only statements. */
  readonly stage: Stage | null;
  /** The content hash of staged effects; else null. */
  readonly digest: string | null;
  /** Rows to quarantine (M7). */
  readonly badRows: readonly BadRow[];
  /** Masked values that an error of the sink may quote. */
  readonly secrets: SecretValues;
  /** The message as it may be stored, if `govern` had it masked; else null. */
  readonly masked: MaskedMessage | null;
  /** Of the object or the message. */
  readonly input: InputHash;
}

/** Neither call rejects. */
export interface CommitStage {
  /** Everything before the ledger call: an idempotent sink applies its effects here. */
  prepare(
    record: WorkRecord,
    claim: Claim,
    work: Work,
    inFlight: InFlightDelivery,
  ): Promise<PreparedCommit | Uncommitted>;
  commit(
    prepared: PreparedCommit,
    claim: Claim,
    inFlight: InFlightDelivery,
  ): Promise<CommitOutcome>;
}

/** Commits per ledger call. */
const COMMITS_PER_CALL_MAX = 100;
const CALLS_MAX = 3;
const BACKOFF_MS = linearBackoff(durationMs(100));

export interface CommitPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly sink: Sink | null;
  readonly turn: Turn;
  readonly deadlines: Deadlines;
  readonly masked: RecordMask;
  /** Null or absent: messages are not archived. */
  readonly archive?: MessageArchive | null;
}

export interface CommitOptions {
  readonly scope: LedgerScope;
  readonly owner: string;
  readonly pipeline: Pipeline;
  /** The queue that the pipeline reads. */
  readonly queue: string;
}

export function createCommitStage(ports: CommitPorts, options: CommitOptions): CommitStage {
  const { scope, owner } = options;
  const prepareWork = createPreparation(ports, options);
  const { commitOne, commitDirectly } = createWriters(ports, scope);
  const { ledger } = ports;

  return {
    async prepare(record, claim, work, inFlight) {
      const prepared = await prepareWork(record, claim, work, inFlight);
      if (prepared.kind !== "prepared") removeStage(work.stage);
      return prepared;
    },
    async commit({ write, secrets, stage, redriven }, { fence, startedAt, input }, { receivedAt }) {
      try {
        const attempt = { owner, receivedAt, startedAt, input }; // M4
        const result: CommitOutcome =
          fence !== null
            ? await commitOne({ ...write, fence })
            : await commitDirectly({ ...write, ...attempt });
        if (result.kind !== "committed") return result;
        // In the background: a set that its redrive ended is not listed again (Q6).
        if (redriven !== null) removeQuarantine(ledger, scope, redriven).catch(() => undefined);
        return { kind: "committed" };
      } catch (error) {
        return { kind: "failed", error, secrets };
      } finally {
        removeStage(stage);
      }
    },
  };
}

type PrepareWork = (
  record: WorkRecord,
  claim: Claim,
  work: Work,
  inFlight: InFlightDelivery,
) => Promise<PreparedCommit | Uncommitted>;

/** Turns work into the value that the ledger commits. */
function createPreparation(ports: Omit<CommitPorts, "turn">, options: CommitOptions): PrepareWork {
  const { clock, sink, deadlines } = ports;
  const { pipeline } = options;
  const inTime = createTimeLimit(deadlines, pipeline.timeoutMs);
  const archive = createArchiving(ports.archive ?? null, inTime);
  return async (record, claim, work, inFlight) => {
    const { effects, stage, digest, badRows, secrets, input } = work;
    const isCurrent = claim.confirmed?.isCurrent !== false; // M8
    const origin = originOf(record, claim, pipeline);
    if (!inFlight.alive()) return { kind: "lost", reason: "the lease ran out before the commit" }; // M2
    try {
      checkStatements(sink, effects);
      const bad = { record, claim, rows: badRows, inFlight };
      // First, because it throws if the sink rejects the effects.
      const writes = isCurrent ? writesOf(sink, effects, stage, origin) : [];
      const quarantine = await storeQuarantine(ports, options, bad); // M7
      const archived = await archive(record, work, inFlight); // M9
      const isLost = archived !== null && !inFlight.alive(); // M2
      if (isLost) return { kind: "lost", reason: "the lease ran out in the archive" };
      const fence = claim.fence ?? fenceOf(claim.startedAt);
      const apply = (signal: AbortSignal) =>
        stage?.mode === "idempotent"
          ? stage.apply({ ...origin, fence }, signal)
          : sink?.mode === "idempotent"
            ? sink.apply(effects, { ...origin, fence }, signal)
            : Promise.resolve();
      // An object without effects may have had some before, which the sink must remove.
      const any = effects.length > 0 || stage !== null || origin.object !== null;
      const applies = sink?.mode === "idempotent" && (any || sink.appliesEmpty === true);
      if (applies && isCurrent) {
        await inTime(inFlight, apply);
        if (!inFlight.alive()) return { kind: "lost", reason: "the lease ran out in the sink" };
      }
      const counts = new Map([...(stage?.counts ?? []), ...effectCounts(effects)]);
      const tookMs = msBetween(claim.startedAt, clock.now());
      const quarantined = quarantine && { set: quarantine.set, rows: badRows.length };
      const facts = { ...(quarantined && { quarantined }), ...(archived && { archived }) };
      const hash = encodeInputHash(input);
      const described = { tookMs, hash, ...facts, ...placeOf(record, claim) }; // M7, M8, M9
      const summary = summariseEffects(counts, described);
      const result = digest ?? digestOfEffects(effects);
      const write = writeOf(record, claim, { digest: result, summary, writes });
      return { kind: "prepared", write, stage, redriven: redrivenBy(record), secrets };
    } catch (error) {
      return { kind: "failed", error, secrets };
    }
  };
}

function writesOf(
  sink: Sink | null,
  effects: readonly Effect[],
  stage: Stage | null,
  origin: EffectOrigin,
): readonly SinkWrite[] {
  if (stage?.mode === "transactional" && sink?.mode === "transactional") {
    return [...stage.merge(origin), ...statementWrites(effects, sink.dialect)];
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
function removeStage(stage: Stage | null): void {
  stage?.discard().catch(() => undefined);
}

/** Ledger calls that share a batch with others of the same turn. */
function createWriters(
  ports: { readonly clock: Clock; readonly ledger: Ledger; readonly turn: Turn },
  scope: LedgerScope,
) {
  const { clock, ledger, turn } = ports;
  const sleep = (span: DurationMs) => clock.sleep(span);
  const bounds = { triesMax: CALLS_MAX, pause: { delayMs: BACKOFF_MS, sleep } };
  const withRetries = <T>(ask: () => Promise<T>) => retryErrors(bounds, isLedgerDown, ask); // M3
  const max = COMMITS_PER_CALL_MAX;
  const splits = isRejection; // M3
  return {
    commitOne: createTurnBatcher<Commit, CommitResult>(turn, {
      max,
      splits,
      run: (commits) => withRetries(() => ledger.commit(scope, commits)),
    }),
    commitDirectly: createTurnBatcher<DirectCommit, DirectResult>(turn, {
      max,
      splits,
      run: (commits) => withRetries(() => ledger.commitDirect(scope, commits)),
    }),
  };
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

/** Archives the message of a record; returns where it is, or null if it is not archived (M9). */
function createArchiving(
  archive: MessageArchive | null,
  inTime: ReturnType<typeof createTimeLimit>,
) {
  return async (record: WorkRecord, { masked }: Work, inFlight: InFlightDelivery) => {
    if (archive === null) return null;
    const message = archivedForm(record, inFlight.delivery, masked);
    if (message === null) return null;
    const stored = { uri: "" };
    await inTime(inFlight, async (signal) => {
      stored.uri = await archive.keep(record.key, message, signal);
    });
    return stored.uri;
  };
}

/** Runs a sink until the lease is lost or its timeout passes (M5). */
function createTimeLimit(deadlines: Deadlines, timeoutMs: number) {
  const message = `the sink took longer than ${timeoutMs} ms`;
  const tooLong = () => new TidegateError("TG_SINK_UNAVAILABLE", message);
  return (
    inFlight: InFlightDelivery,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> => {
    const attempt = beginAttempt(inFlight, deadlines, tooLong);
    return attempt.run(async () => work(attempt.signal)).finally(() => attempt.close([]));
  };
}

const NOT_ANSWERED: ReadonlySet<string> = new Set(["TG_LEDGER_UNAVAILABLE", "TG_LEDGER_BUSY"]);

function isLedgerDown(error: unknown): boolean {
  return error instanceof TidegateError && NOT_ANSWERED.has(error.code);
}

function isRejection(error: unknown): boolean {
  return error instanceof TidegateError && !NOT_ANSWERED.has(error.code);
}

/** The place that the ledger gives a listed state with the commit (M8). */
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
  const { eventTime } = claim.input; // M10
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
