// Commit: seals outcome and effects in one atomic write.
//   M1. What is answered "committed" is durable, with all its effects, or with none if it was
//       superseded; whatever else is answered, none of them happened here. But a direct commit
//       that is asked for again (M3) may be told that it is a duplicate, of itself.
//   M2. A lease that may have been lost is not committed under, although the ledger would refuse an
//       old fence by itself: a handler that was aborted must not win by luck.
//   M3. A ledger that does not answer is asked again with the same words, which is safe; a sink
//       that refuses one record's effects does not take the others of the batch along.
//   M4. What was decided about a record (its lane, the watermark of that moment) is written down
//       with its outcome, so that a replay can take the same decision.
//   M5. A sink has as long as a handler. One that takes longer is taken for one that is down, which
//       is not the record's fault; without a deadline it would keep its slot for as long as its
//       lease is renewed.
//   M6. What is kept of the effects is a summary, which never stands in the way of the commit: an
//       idempotent sink has them by then, whatever names it was given.

import { linearBackoff, retryErrors } from "../../core/bounded-retry.ts";
import { canonicalJson } from "../../core/encoding/canonical-json.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import { TidegateError } from "../../core/errors.ts";
import { type DurationMs, durationMs, type EpochMs, msBetween } from "../../core/units.ts";
import { EFFECTS_CHARS_MAX } from "../../ledger/batches.ts";
import { fenceOf } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  Commit,
  CommitResult,
  DirectCommit,
  DirectResult,
  Ledger,
} from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Effect, EffectOrigin, Sink } from "../../ports/sink.ts";
import type { Turn } from "../../ports/turn.ts";
import type { LaneDecision } from "../policy/watermark.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { beginAttempt } from "./attempt.ts";
import type { Claim } from "./claim.ts";
import type { Deadlines } from "./deadlines.ts";
import type { WorkRecord } from "./decode.ts";
import { createTurnBatcher } from "./turn-batcher.ts";

/** Nothing was written: the lease was lost before (M2), or the sink or the ledger failed. */
type Uncommitted =
  | { readonly kind: "lost"; readonly reason: string }
  | { readonly kind: "failed"; readonly error: unknown; readonly secrets: readonly string[] };

export type CommitOutcome =
  | CommitResult
  | Exclude<DirectResult, { kind: "committed" }>
  | Uncommitted;

/** The commit of one record, ready to be written. */
export interface PreparedCommit {
  readonly kind: "prepared";
  readonly write: Omit<Commit, "fence">;
  readonly secrets: readonly string[];
}

/** What a handler asked for, to be committed. */
export interface Work {
  readonly effects: readonly Effect[];
  readonly decision: LaneDecision;
  /** Masked values that an error of the sink may quote. */
  readonly secrets: readonly string[];
}

/** Neither call rejects. */
export interface CommitStage {
  /** Everything before the ledger is asked: an idempotent sink applies its effects here. */
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

/** One ledger call takes so many commits. */
const COMMITS_PER_CALL_MAX = 100;
const ASKED_MAX = 3;
const BACKOFF_MS = linearBackoff(durationMs(100));

export function createCommitStage(
  ports: {
    readonly clock: Clock;
    readonly ledger: Ledger;
    readonly sink: Sink | null;
    readonly turn: Turn;
    readonly deadlines: Deadlines;
  },
  options: { readonly scope: LedgerScope; readonly owner: string; readonly pipeline: Pipeline },
): CommitStage {
  const { clock, ledger, sink, turn, deadlines } = ports;
  const { scope, owner, pipeline } = options;
  const inTime = createTimeLimit(deadlines, pipeline.timeoutMs);
  const { commitOne, commitDirectly } = createWriters({ clock, ledger, turn }, scope);

  return {
    async prepare(record, claim, { effects, decision, secrets }, inFlight) {
      const origin = originOf(record);
      if (!inFlight.alive()) return { kind: "lost", reason: "the lease ran out before the commit" }; // M2
      try {
        // An object without effects may have had some before, which the sink must remove.
        if (sink?.mode === "idempotent" && (effects.length > 0 || origin.object !== null)) {
          const fence = claim.fence ?? fenceOf(claim.startedAt);
          await inTime(inFlight, (signal) => sink.apply(effects, { ...origin, fence }, signal));
          if (!inFlight.alive()) return { kind: "lost", reason: "the lease ran out in the sink" };
        }
        const writes = sink?.mode === "transactional" ? sink.plan(effects, origin) : [];
        const summary = describe(effects, decision, claim.startedAt, clock.now()); // M4
        const write = writeOf(record, effects, summary, writes);
        return { kind: "prepared", write, secrets };
      } catch (error) {
        return { kind: "failed", error, secrets };
      }
    },
    async commit({ write, secrets }, { fence, startedAt }, { receivedAt }) {
      try {
        if (fence !== null) return await commitOne({ ...write, fence });
        const direct = await commitDirectly({ ...write, owner, receivedAt, startedAt });
        return direct.kind === "committed" ? { kind: "committed" } : direct;
      } catch (error) {
        return { kind: "failed", error, secrets };
      }
    },
  };
}

/** Ledger calls that share a batch with others of the same turn. */
function createWriters(
  ports: { readonly clock: Clock; readonly ledger: Ledger; readonly turn: Turn },
  scope: LedgerScope,
) {
  const { clock, ledger, turn } = ports;
  const sleep = (span: DurationMs) => clock.sleep(span);
  const bounds = { triesMax: ASKED_MAX, pause: { delayMs: BACKOFF_MS, sleep } };
  const insist = <T>(ask: () => Promise<T>) => retryErrors(bounds, isLedgerDown, ask); // M3
  const max = COMMITS_PER_CALL_MAX;
  const splits = isRefusedSink; // M3
  return {
    commitOne: createTurnBatcher<Commit, CommitResult>(turn, {
      max,
      splits,
      run: (commits) => insist(() => ledger.commit(scope, commits)),
    }),
    commitDirectly: createTurnBatcher<DirectCommit, DirectResult>(turn, {
      max,
      splits,
      run: (commits) => insist(() => ledger.commitDirect(scope, commits)),
    }),
  };
}

function writeOf(
  { key, object }: WorkRecord,
  effects: readonly Effect[],
  summary: string,
  writes: NonNullable<Commit["writes"]>,
): PreparedCommit["write"] {
  return {
    key,
    digest: digestOf(effects),
    effects: summary,
    ...(object !== null && { object }),
    ...(writes.length > 0 && { writes }),
  };
}

/** Lets a sink work until the lease is lost or its time is up (M5). */
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

function isLedgerDown(error: unknown): boolean {
  return error instanceof TidegateError && error.code === "TG_LEDGER_UNAVAILABLE";
}

function isRefusedSink(error: unknown): boolean {
  return error instanceof TidegateError && error.code !== "TG_LEDGER_UNAVAILABLE";
}

function originOf({ key, object, eventTime, content }: WorkRecord): EffectOrigin {
  // Only what changes an object's bytes says anything about the rows that came of them.
  const kind = content.kind === "object" ? content.event.kind : null;
  const changed = object !== null && (kind === "created" || kind === "removed");
  return { key, eventTime, object: changed ? { ...object, removed: kind === "removed" } : null };
}

const NOTHING_DIGEST = sha256Hex("[]");

/** Tells two results apart; effects that are no JSON are told apart by their number alone. */
function digestOf(effects: readonly Effect[]): string {
  if (effects.length === 0) return NOTHING_DIGEST;
  try {
    return sha256Hex(JSON.stringify(effects));
  } catch {
    return sha256Hex(`${effects.length} effects`);
  }
}

/** What came of a record, in a few words for whoever asks later (M6). */
function describe(
  effects: readonly Effect[],
  { lane, watermark }: LaneDecision,
  startedAt: EpochMs,
  now: EpochMs,
): string {
  const tookMs = msBetween(startedAt, now);
  const told = (nameOf: (effect: Effect) => string) =>
    canonicalJson({ lane, watermark, effects: countBy(effects, nameOf), tookMs });
  const byTable = told((effect) =>
    effect.kind === "custom"
      ? effect.kind
      : `${effect.kind} ${String(effect.table)}`.toWellFormed(),
  );
  return byTable.length <= EFFECTS_CHARS_MAX ? byTable : told(({ kind }) => kind);
}

function countBy(
  effects: readonly Effect[],
  nameOf: (effect: Effect) => string,
): Record<string, number> {
  const counts = new Map<string, number>();
  for (const effect of effects) {
    const name = nameOf(effect);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}
