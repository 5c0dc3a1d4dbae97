// Engine: the single writer. It runs the requests that arrive in one turn of the event loop one
// after the other against the state in memory, commits their changes together, and only then
// answers any of them.
//   W1. An answer goes out only after everything it depends on is durable, reads included: no
//       caller learns of a message that a crash could still undo.
//   W2. All changes of an operation are in one commit, completely or not at all.
//   W3. When a commit fails, every request in it is rejected, and the state in memory is discarded,
//       because it contains changes that the store does not have. The engine reloads it from the
//       store after a pause, even without a request: move tasks and housekeeping send none.
//   W4. While a commit is in flight, new requests are collected for the next batch. That batch may
//       run, and its commit may start, before the previous commit has ended (in-flight-commits.ts).
//       The state is then ahead of the store, so W1 delays even the answers of reads.
//   W5. Message numbers are reserved ahead, one block at a time: no number is in use that the store
//       has not reserved, and a restart continues behind the block. Numbers have gaps and are never
//       reused; most commits need not write the counter.
//   W6. A listing of objects reads only the store, so it waits for a batch that changes objects.
//   W7. The next commit begins before the answers of the previous one are written, so the disk
//       works while the answers go out.
//   W8. A failed commit discards only the state it ran on. A late failure does not discard state
//       that was reloaded since. Nothing is reloaded while a commit is in flight.
//   W9. An operation that throws rejects its whole batch, without a pause, because the store works.
//       A message that the disk has damaged is skipped from then on (set-aside.ts). A damaged
//       object rejects only the operations that need it (run-step.ts).

import { assert } from "../../core/assert.ts";
import type { Change } from "../../core/broker-change.ts";
import { TidegateError } from "../../core/errors.ts";
import { succeed } from "../../core/result.ts";
import { addMs, durationMs, type EpochMs } from "../../core/units.ts";
import type { BrokerStore } from "../../ports/broker-store.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Turn } from "../../ports/turn.ts";
import type { BrokerIdentity, BrokerState } from "../model/broker-state.ts";
import { runHousekeeping, sweepGarbage } from "../model/housekeeping.ts";
import { nextPendingHttpAt } from "../model/sns/pending-http.ts";
import { runReplays } from "../model/sns/replay.ts";
import { answerLongPolls } from "../model/sqs/answer-long-polls.ts";
import { nextMoveAt, runMoveTasks } from "../model/sqs/move-tasks/move-task.ts";
import { Alarm } from "./alarm.ts";
import { Batch } from "./batch.ts";
import { ContentCache } from "./content-cache.ts";
import { HousekeepingSchedule } from "./housekeeping-schedule.ts";
import { type InFlightCommit, InFlightCommits } from "./in-flight-commits.ts";
import { ModelTime } from "./model-time.ts";
import type { AnsweredOperation, PendingOperation } from "./pending-operation.ts";
import { recover } from "./recovery.ts";
import { runStep } from "./run-step.ts";
import { LISTING_OPERATIONS } from "./s3-steps.ts";
import { isStoreDown, SetAside } from "./set-aside.ts";

const OPERATIONS_PER_BATCH_MAX = 1_000;
/** How many message numbers are reserved at a time (W5). */
const SEQUENCE_BLOCK = 4_096;
/** The shortest pause before a failed store is tried again, however many requests arrive. */
const STORE_RETRY_MS = 250;
/** The pauses double up to this, because each attempt reads the whole store. */
const STORE_RETRY_MS_MAX = 8_000;

export interface EnginePorts {
  readonly store: BrokerStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly turn: Turn;
  /** Receives failures that belong to no request, such as those of a move task. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

interface LongPoll {
  readonly operation: PendingOperation;
  readonly onAbort: () => void;
}

/** The operations to reject, and the state they ran on; null if there was none. */
interface FailedBatch {
  readonly state: BrokerState | null;
  readonly operations: readonly PendingOperation[];
  readonly answered: readonly AnsweredOperation[];
}

export class Engine {
  readonly #ports: EnginePorts;
  readonly #identity: BrokerIdentity;
  readonly #cacheBytesMax: number;
  readonly #time: ModelTime;
  readonly #alarm: Alarm;
  readonly #longPolls = new Map<number, LongPoll>();
  readonly #idleWaiters: (() => void)[] = [];
  readonly #setAside: SetAside;
  readonly #housekeeping: HousekeepingSchedule;
  readonly #inFlight = new InFlightCommits((commit, failure) => this.#complete(commit, failure));
  #inbox: PendingOperation[] = [];
  #state: BrokerState | null = null;
  #cache: ContentCache;
  #reservedThrough = 0;
  #storeFailedAt = Number.NEGATIVE_INFINITY;
  #retryMs = STORE_RETRY_MS;
  #scheduled = false;
  #recovering = false;
  #alarmed = false;
  #closed = false;
  /** Called after every commit with the instant at which the next HTTP delivery is due. */
  onOutgoing: (dueAt: EpochMs | null, now: EpochMs) => void = () => {};
  #closing: Promise<void> | null = null;

  constructor(ports: EnginePorts, identity: BrokerIdentity, cacheBytesMax: number) {
    this.#ports = ports;
    this.#identity = identity;
    this.#cacheBytesMax = cacheBytesMax;
    this.#cache = new ContentCache(cacheBytesMax, 1);
    this.#setAside = new SetAside(ports.store);
    this.#time = new ModelTime(ports.clock);
    this.#housekeeping = new HousekeepingSchedule(this.#time.now());
    this.#alarm = new Alarm(ports.clock, () => {
      this.#alarmed = true;
      this.#schedule();
    });
  }

  /** Loads the state from the store. Everything else waits for it. */
  async open(): Promise<void> {
    const now = this.#time.now();
    const { store } = this.#ports;
    const { state, fresh, latest } = recover(store, this.#identity, now, this.#setAside);
    this.#time.continueFrom(latest);
    const value = JSON.stringify(state.identity.secret);
    const document = { collection: "broker", key: "secret", value };
    // Even an empty commit shows that the store can be written to.
    await store.commit(fresh ? [{ kind: "put-document", document }] : []);
    this.#cache = new ContentCache(this.#cacheBytesMax, state.sequence + 1);
    this.#reservedThrough = state.sequence;
    this.#state = state;
    this.#housekeeping.reset();
    this.#alarmed = true; // Continues move tasks and garbage collection of an earlier run.
    this.#schedule();
  }

  submit(operation: PendingOperation): void {
    if (this.#closed) {
      operation.reject(new TidegateError("TG_CLOSED", "the broker is closed"));
      return;
    }
    this.#inbox.push(operation);
    this.#schedule();
  }

  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Idempotent: every call returns the same promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#closed = true;
    this.#alarm.clear();
    this.#endLongPolls();
    await this.idle();
    this.#endLongPolls(); // Those that were still in the inbox and began to wait since.
    await this.#ports.store.close();
  }

  /** False from a failure of the store until the state is reloaded. */
  get healthy(): boolean {
    return this.#state !== null;
  }

  #endLongPolls(): void {
    for (const id of [...this.#longPolls.keys()]) this.#endLongPoll(id);
  }

  #isIdle(): boolean {
    return !this.#scheduled && !this.#recovering && this.#inFlight.count === 0;
  }

  #resolveIdle(): void {
    if (!this.#isIdle()) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  #mayRun(): boolean {
    if (this.#recovering) return false;
    if (this.#inFlight.count === 0) return this.#inbox.length > 0 || this.#alarmed;
    return this.#state !== null && this.#inFlight.takesAnother(this.#inbox.length); // W4, W8
  }

  #schedule(): void {
    if (this.#scheduled || !this.#mayRun()) return;
    this.#scheduled = true;
    this.#ports.turn.afterTurn(() => {
      this.#scheduled = false;
      if (this.#mayRun()) this.#run();
      this.#resolveIdle();
    });
  }

  #run(): void {
    if (this.#state !== null) this.#runBatch(this.#state);
    else if (this.#storeFailedRecently()) this.#rejectAll();
    else void this.#recover();
  }

  #runBatch(state: BrokerState): void {
    const operations = this.#inbox.splice(0, OPERATIONS_PER_BATCH_MAX);
    this.#alarmed = false;
    const answered: AnsweredOperation[] = [];
    const { store, random } = this.#ports;
    const batch = new Batch(this.#time.now(), store, this.#cache, random);
    try {
      for (const [index, operation] of operations.entries()) {
        if (batch.objects.touched && LISTING_OPERATIONS.has(operation.name)) {
          this.#inbox.unshift(...operations.splice(index)); // W6
          break;
        }
        this.#runOperation(state, batch, operation, answered);
      }
      this.#runBackgroundWork(state, batch, answered);
      this.#housekeeping.noteChanges(batch.changes);
    } catch (error) {
      this.#fail({ state, operations, answered }, error);
      if (!isStoreDown(error)) this.#continueWithout(batch.damaged);
      this.#schedule(); // For operations that were not part of this batch.
      return;
    }
    assert(this.#state === state, "a batch runs on the current state (W8)");
    const changedObjects = batch.objects.touched;
    const { now } = batch;
    const commit = { state, now, operations, answered, changedObjects, turned: false };
    this.#inFlight.begin(commit, this.#commit(state, batch.changes));
    if (batch.changes.length > 0) {
      this.#ports.turn.afterTurn(() => {
        commit.turned = true;
      });
    }
    this.#schedule();
  }

  /** Reloads on the next request, or immediately if a damaged message must be skipped (W9). */
  #continueWithout(damaged: number | null): void {
    this.#storeFailedAt = Number.NEGATIVE_INFINITY;
    if (damaged === null) return;
    this.#setAside.add(damaged);
    this.#alarmed = true;
  }

  #storeFailedRecently(): boolean {
    return this.#ports.clock.monotonic() - this.#storeFailedAt < STORE_RETRY_MS;
  }

  /** Does not count as a failure: under steady traffic the pause would start over forever. */
  #rejectAll(): void {
    this.#alarmed = false;
    this.#retryLater(); // Timers may be a little early.
    const error = new TidegateError("TG_STORE_UNAVAILABLE", "the store failed a moment ago");
    for (const operation of this.#inbox.splice(0)) operation.reject(error);
  }

  /** Reloads the state that a failure discarded (W3). */
  async #recover(): Promise<void> {
    assert(this.#inFlight.count === 0, "no commit is in flight during a reload (W8)");
    assert(this.#longPolls.size === 0, "a failure rejects all long polls (W3)");
    this.#recovering = true;
    try {
      await this.open();
    } catch (error) {
      const operations = this.#inbox.splice(0);
      this.#alarmed = false;
      this.#fail({ state: null, operations, answered: [] }, error);
    }
    this.#recovering = false;
    if (this.#mayRun()) this.#run();
    this.#resolveIdle();
  }

  /** Ends a commit: rejects its operations, or answers them. */
  #complete(commit: InFlightCommit, failure: { readonly error: unknown } | null): void {
    if (failure !== null) {
      this.#fail(commit, failure.error);
    } else if (this.#state === commit.state) {
      this.#retryMs = STORE_RETRY_MS;
      this.#setAlarm(commit.state, commit.now);
    }
    // Starts the next commit before the answers are written (W7). Only if this commit took at least
    // one turn; otherwise the event loop would never get to anything else.
    if (commit.turned && this.#inbox.length > 0 && this.#mayRun()) this.#run();
    else this.#schedule();
    if (failure === null) {
      for (const { operation, result } of commit.answered) operation.resolve(result); // W1
    }
    this.#resolveIdle();
  }

  #runOperation(
    state: BrokerState,
    batch: Batch,
    operation: PendingOperation,
    answered: AnsweredOperation[],
  ): void {
    if (operation.signal?.aborted && operation.name === "receive") {
      answered.push({ operation, result: succeed({ deliveries: [] }) });
      return;
    }
    const result = runStep(state, batch, operation);
    if (result === null) return; // W9
    if (!("waiting" in result)) {
      answered.push({ operation, result });
      return;
    }
    const id = result.waiting;
    const onAbort = () => this.#endLongPoll(id);
    this.#longPolls.set(id, { operation, onAbort });
    operation.signal?.addEventListener("abort", onAbort, { once: true });
  }

  /** Removes a long poll and its listener: the signal may live much longer than the poll. */
  #takeLongPoll(id: number): PendingOperation | undefined {
    const poll = this.#longPolls.get(id);
    if (poll === undefined) return undefined;
    this.#longPolls.delete(id);
    poll.operation.signal?.removeEventListener("abort", poll.onAbort);
    return poll.operation;
  }

  /** Work without a request: move tasks, replays, garbage, housekeeping, answers to long polls. */
  #runBackgroundWork(state: BrokerState, batch: Batch, answered: AnsweredOperation[]): void {
    runMoveTasks(state, batch);
    runReplays(state, batch);
    sweepGarbage(state, batch);
    if (this.#housekeeping.isDue(batch.now)) {
      runHousekeeping(state, batch);
      this.#housekeeping.ranAt(batch.now);
    }
    answerLongPolls(state, batch, (id, result) => {
      const operation = this.#takeLongPoll(id);
      if (operation !== undefined) answered.push({ operation, result });
    });
  }

  #commit(state: BrokerState, changes: Change[]): Promise<void> {
    if (changes.length === 0) return Promise.resolve();
    if (state.sequence > this.#reservedThrough) {
      this.#reservedThrough = state.sequence + SEQUENCE_BLOCK; // W5
      changes.push({ kind: "set-sequence", seq: this.#reservedThrough });
    }
    assert(state.sequence <= this.#reservedThrough, "every number in use is reserved (W5)");
    return this.#ports.store.commit(changes);
  }

  #fail({ state, operations, answered }: FailedBatch, error: unknown): void {
    const rejected = new Set([...operations, ...answered.map(({ operation }) => operation)]);
    if (this.#state === state) {
      this.#state = null; // W3, W8
      this.#storeFailedAt = this.#ports.clock.monotonic();
      for (const id of [...this.#longPolls.keys()]) {
        rejected.add(this.#takeLongPoll(id) as PendingOperation);
      }
      this.#alarm.clear();
      this.#retryLater();
      this.#retryMs = Math.min(this.#retryMs * 2, STORE_RETRY_MS_MAX);
    }
    for (const operation of rejected) operation.reject(error);
    if (rejected.size === 0) this.#ports.onError?.(error);
  }

  /** Schedules the next reload (W3). */
  #retryLater(): void {
    if (this.#closed) return;
    const now = this.#time.now();
    this.#alarm.setFor(addMs(now, durationMs(this.#retryMs)), now);
  }

  #endLongPoll(id: number): void {
    this.#state?.waiting.remove(id);
    this.#takeLongPoll(id)?.resolve(succeed({ deliveries: [] }));
  }

  #setAlarm(state: BrokerState, now: EpochMs): void {
    if (this.#closed) return;
    if (state.garbage.length > 0 || state.topics.replaying.size > 0) this.#alarmed = true;
    if (state.topics.withHttp.size > 0) this.onOutgoing(nextPendingHttpAt(state, now), now);
    const wake = state.waiting.nextWakeAt();
    const move = nextMoveAt(state);
    if (wake !== null) this.#alarm.setFor(wake, now);
    if (move !== null && move <= now) this.#alarmed = true;
    else if (move !== null) this.#alarm.setFor(move, now);
    const housekeeping = this.#housekeeping.nextAt(state, now);
    if (housekeeping !== null) this.#alarm.setFor(housekeeping, now);
  }
}
