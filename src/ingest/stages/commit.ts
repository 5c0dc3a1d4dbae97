// Commit: writes a record's outcome and effects, as prepare.ts has made them ready, in one atomic
// write.
//   M1. "committed" means that the outcome is durable with all its effects; "superseded", with
//       none. After any other answer, none of the effects happened here. A direct commit that is
//       retried (M2) may be answered as a duplicate of itself.
//   M2. A commit that the ledger did not answer is repeated unchanged, which is safe. A sink that
//       rejects one record's effects does not fail the other records of the batch.
//   M3. The claim has stored where the record came from. A direct commit stores it with the
//       outcome.

import { linearBackoff, retryErrors } from "../../core/bounded-retry.ts";
import { TidegateError } from "../../core/errors.ts";
import { type DurationMs, durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  Commit,
  CommitResult,
  DirectCommit,
  DirectResult,
  Ledger,
} from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Turn } from "../../ports/turn.ts";
import { removeQuarantine } from "../quarantine/store-quarantine.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { Claim } from "./claim.ts";
import { discardStaged, type PreparedCommit, type Uncommitted } from "./prepare.ts";
import { createTurnBatcher } from "./turn-batcher.ts";

export type CommitOutcome =
  | CommitResult
  | Exclude<DirectResult, { kind: "committed" }>
  | Uncommitted;

/** Never rejects. */
export type CommitStage = (
  prepared: PreparedCommit,
  claim: Claim,
  inFlight: InFlightDelivery,
) => Promise<CommitOutcome>;

/** Commits per ledger call. */
const COMMITS_PER_CALL_MAX = 100;
const CALLS_MAX = 3;
const BACKOFF_MS = linearBackoff(durationMs(100));

export interface CommitPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly turn: Turn;
}

export interface CommitOptions {
  readonly scope: LedgerScope;
  readonly owner: string;
}

export function createCommitStage(ports: CommitPorts, options: CommitOptions): CommitStage {
  const { scope, owner } = options;
  const { commitOne, commitDirectly } = createWriters(ports, scope);
  return async (prepared, { fence, startedAt, input }, { receivedAt }) => {
    const { write, secrets, staged, redriven } = prepared;
    try {
      const attempt = { owner, receivedAt, startedAt, input }; // M3
      const result: CommitOutcome =
        fence !== null
          ? await commitOne({ ...write, fence })
          : await commitDirectly({ ...write, ...attempt });
      if (result.kind !== "committed") return result;
      // In the background: a set that its redrive ended is not listed again (Q6).
      if (redriven !== null) {
        removeQuarantine(ports.ledger, scope, redriven).catch(() => undefined);
      }
      return { kind: "committed" };
    } catch (error) {
      return { kind: "failed", error, secrets };
    } finally {
      discardStaged(staged);
    }
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
  const withRetries = <T>(ask: () => Promise<T>) => retryErrors(bounds, isLedgerDown, ask); // M2
  const max = COMMITS_PER_CALL_MAX;
  const splits = isRejection; // M2
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

const NOT_ANSWERED: ReadonlySet<string> = new Set(["TG_LEDGER_UNAVAILABLE", "TG_LEDGER_BUSY"]);

function isLedgerDown(error: unknown): boolean {
  return error instanceof TidegateError && NOT_ANSWERED.has(error.code);
}

function isRejection(error: unknown): boolean {
  return error instanceof TidegateError && !NOT_ANSWERED.has(error.code);
}
