// Ledger calls: the methods of a ledger on top of a store's single entry point. A store implements
// `run`; the checks and the shapes of the answers are the same everywhere.

import type { SinkWrite } from "../core/sink-write.ts";
import type { DurationMs } from "../core/units.ts";
import type {
  ClaimRequest,
  ClaimResult,
  Commit,
  CommitResult,
  DirectCommit,
  DirectResult,
  FailedAttempt,
  FailResult,
  FencedKey,
  Lease,
  NoteInput,
  ReleaseResult,
  RenewResult,
  ReopenResult,
} from "../ports/ledger.ts";
import type { LedgerScope, ObjectRef, RecordKey } from "../ports/record.ts";
import { checkBatch, checkLease } from "./batches.ts";
import type { RecordCall, RecordResult } from "./record-call.ts";

/** One record of a batch and the call on it. */
export interface RecordItem {
  readonly key: RecordKey;
  /** Set if the call compares or advances the object's sequencer. */
  readonly object: ObjectRef | null;
  readonly writes: readonly SinkWrite[];
  /** Written with the transition if and only if that changes the record. */
  readonly note: NoteInput | null;
  readonly call: RecordCall;
}

/**
 * Runs the transition of each item and saves its result, in order. This is all a store implements.
 */
export type RunBatch = (
  scope: LedgerScope,
  items: readonly RecordItem[],
) => Promise<RecordResult[]>;

const NO_WRITES: readonly SinkWrite[] = [];

/** Checks a batch and runs it. Each kind of call has its own result type. */
function batchCaller(run: RunBatch, store: { readonly takesWrites: boolean }) {
  return async <T extends { readonly key: RecordKey }, R extends RecordResult>(
    scope: LedgerScope,
    requests: readonly T[],
    toItem: (request: T) => RecordItem,
  ): Promise<R[]> => {
    checkBatch(scope, requests, store);
    return requests.length === 0 ? [] : ((await run(scope, requests.map(toItem))) as R[]);
  };
}

/** The methods that change records. */
export function ledgerCalls(run: RunBatch, store: { readonly takesWrites: boolean }) {
  const batch = batchCaller(run, store);
  return {
    async claim(scope: LedgerScope, requests: readonly ClaimRequest[], lease: Lease) {
      const { owner, leaseMs } = lease;
      checkLease(leaseMs, owner);
      return await batch<ClaimRequest, ClaimResult>(scope, requests, (request) => {
        const { key, receivedAt, input, object = null, note = null } = request;
        const call = { call: "claim", owner, leaseMs, receivedAt, input } as const;
        return { ...itemOf(key, object, call), note };
      });
    },
    async renew(scope: LedgerScope, claims: readonly FencedKey[], leaseMs: DurationMs) {
      checkLease(leaseMs);
      return await batch<FencedKey, RenewResult>(scope, claims, ({ key, fence }) =>
        itemOf(key, null, { call: "renew", fence, leaseMs }),
      );
    },
    commit: (scope: LedgerScope, commits: readonly Commit[]) =>
      batch<Commit, CommitResult>(scope, commits, (commit) => {
        const { key, fence, digest, effects = null, object = null, writes } = commit;
        return itemOf(key, object, { call: "commit", fence, digest, effects }, writes);
      }),
    commitDirect: (scope: LedgerScope, commits: readonly DirectCommit[]) =>
      batch<DirectCommit, DirectResult>(scope, commits, (commit) => {
        const { key, owner, receivedAt, startedAt, input, digest, effects = null } = commit;
        const { object = null, writes } = commit;
        const call = {
          call: "commit-direct",
          owner,
          receivedAt,
          startedAt,
          input,
          digest,
          effects,
        } as const;
        return itemOf(key, object, call, writes);
      }),
    fail: (scope: LedgerScope, attempts: readonly FailedAttempt[]) =>
      batch<FailedAttempt, FailResult>(scope, attempts, (attempt) => {
        const { key, fence, owner, receivedAt, input, permanent, failure, note = null } = attempt;
        const common = { owner, receivedAt, input, permanent, failure };
        return { ...itemOf(key, null, { call: "fail", fence, ...common }), note };
      }),
    release: (scope: LedgerScope, claims: readonly FencedKey[]) =>
      batch<FencedKey, ReleaseResult>(scope, claims, ({ key, fence }) =>
        itemOf(key, null, { call: "release", fence }),
      ),
    reopen: (scope: LedgerScope, keys: readonly RecordKey[]) =>
      batch<{ key: RecordKey }, ReopenResult>(
        scope,
        keys.map((key) => ({ key })),
        ({ key }) => itemOf(key, null, { call: "reopen" }),
      ),
  };
}

function itemOf(
  key: RecordKey,
  object: ObjectRef | null,
  call: RecordCall,
  writes: readonly SinkWrite[] = NO_WRITES,
): RecordItem {
  // An object that has neither a sequencer nor was listed cannot be ordered: the ledger ignores it.
  const isOrdered = object !== null && (object.sequencer !== null || object.listed === true);
  return { key, object: isOrdered ? object : null, writes, note: null, call };
}
