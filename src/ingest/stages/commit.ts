// Commit: writes a record's outcome and effects in one atomic write.
//   M1. "committed" means that the outcome is durable with all its effects; "superseded", with
//       none. After any other answer, none of the effects happened here. A direct commit that is
//       retried (M3) may be answered as a duplicate of itself.
//   M2. Nothing is committed under a lease that may be lost, although the ledger rejects old fences
//       anyway: an aborted handler must not commit by luck.
//   M3. A commit that the ledger did not answer is repeated unchanged, which is safe. A sink that
//       rejects one record's effects does not fail the other records of the batch.
//   M4. The lane and the watermark at that moment are stored with the outcome, so that a replay can
//       take the same decision.
//   M5. A sink has the same timeout as a handler. A sink that exceeds it counts as down, which is
//       not the record's fault. Without a timeout it would keep its slot as long as its lease.
//   M6. The ledger stores a summary of the effects. A failure to summarise never blocks the commit:
//       an idempotent sink has applied the effects by then.

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

/** The effects of a handler, to be committed. */
export interface Work {
  readonly effects: readonly Effect[];
  readonly decision: LaneDecision;
  /** Masked values that an error of the sink may quote. */
  readonly secrets: readonly string[];
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

function isLedgerDown(error: unknown): boolean {
  return error instanceof TidegateError && error.code === "TG_LEDGER_UNAVAILABLE";
}

function isRejection(error: unknown): boolean {
  return error instanceof TidegateError && error.code !== "TG_LEDGER_UNAVAILABLE";
}

function originOf({ key, object, eventTime, content }: WorkRecord): EffectOrigin {
  // Only events that change an object's bytes concern the rows made from it.
  const kind = content.kind === "object" ? content.event.kind : null;
  const changed = object !== null && (kind === "created" || kind === "removed");
  return { key, eventTime, object: changed ? { ...object, removed: kind === "removed" } : null };
}

const NOTHING_DIGEST = sha256Hex("[]");

/** Distinguishes results; effects that JSON cannot express differ by their number alone. */
function digestOf(effects: readonly Effect[]): string {
  if (effects.length === 0) return NOTHING_DIGEST;
  try {
    return sha256Hex(JSON.stringify(effects));
  } catch {
    return sha256Hex(`${effects.length} effects`);
  }
}

/** A short summary of a record's effects for `tidegate why` (M6). */
function describe(
  effects: readonly Effect[],
  { lane, watermark }: LaneDecision,
  startedAt: EpochMs,
  now: EpochMs,
): string {
  const tookMs = msBetween(startedAt, now);
  const summarise = (nameOf: (effect: Effect) => string) =>
    canonicalJson({ lane, watermark, effects: countBy(effects, nameOf), tookMs });
  const byTable = summarise((effect) =>
    effect.kind === "custom"
      ? effect.kind
      : `${effect.kind} ${String(effect.table)}`.toWellFormed(),
  );
  return byTable.length <= EFFECTS_CHARS_MAX ? byTable : summarise(({ kind }) => kind);
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
