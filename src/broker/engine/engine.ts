// Engine: the single writer. It runs the requests that arrive in one turn of the event loop one
// after the other against the state in memory, commits their changes together, and only then
// answers any of them.
//   W1. An answer goes out only after everything it depends on is durable, reads included: no
//       caller learns of a message that a crash could still undo.
//   W2. All changes of an operation are in one commit, completely or not at all.
//   W3. When a commit fails, its requests are rejected (those that free space may run again, W10).
//       The state in memory has changes that the store does not have, so it is discarded and
//       reloaded after a pause, even without a request: move tasks and housekeeping send none.
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
//  W10. While the disk is full, operations that need space are rejected, and those that free some
//       run (admission.ts). Move tasks and replays pause.
//  W11. A batch holds a limited amount of text: an operation that finds it full waits for the next
//       batch. While clients do not read their replies, receives wait, and long polls get nothing
//       (ports/http/reply-space.ts).

import { assert } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";
import { succeed } from "../../core/result.ts";
import type { ClockLeap } from "../../core/store-clock.ts";
import { addMs, type EpochMs } from "../../core/units.ts";
import type { Change } from "../../ports/broker/broker-change.ts";
import type { BrokerIdentity, BrokerState } from "../model/broker-state.ts";
import { runHousekeeping, sweepGarbage } from "../model/housekeeping.ts";
import { runReplays } from "../model/sns/archive-replay.ts";
import { nextPendingHttpAt } from "../model/sns/pending-http.ts";
import { answerLongPolls } from "../model/sqs/answer-long-polls.ts";
import { runMoveTasks } from "../model/sqs/move-tasks/move-task.ts";
import { Alarm } from "./alarm.ts";
import { Batch } from "./batch.ts";
import type { BrokerHealth } from "./broker.ts";
import { BrokerTime } from "./broker-time.ts";
import { ContentCache } from "./content-cache.ts";
import type { EngineOptions, EnginePorts } from "./engine-ports.ts";
import { HousekeepingSchedule } from "./housekeeping-schedule.ts";
import { type InFlightCommit, InFlightCommits } from "./in-flight-commits.ts";
import { LONG_REPLIES, LongPolls } from "./long-polls.ts";
import { nextWork } from "./next-work.ts";
import type { AnsweredOperation, FailedBatch, PendingOperation } from "./pending-operation.ts";
import { recover } from "./recovery.ts";
import { runStep } from "./run-step.ts";
import { LISTING_OPERATIONS } from "./s3-steps.ts";
import { SequenceReserve } from "./sequence-reserve.ts";
import { isStoreDown, SetAside } from "./set-aside.ts";
import { Admission } from "./space/admission.ts";
import { StoreRetry } from "./store-retry.ts";

const OPERATIONS_PER_BATCH_MAX = 1_000;

export class Engine {
  readonly #ports: EnginePorts;
  readonly #identity: BrokerIdentity;
  readonly #cacheBytesMax: number;
  readonly #time: BrokerTime;
  readonly #alarm: Alarm;
  readonly #longPolls = new LongPolls();
  readonly #idleWaiters: (() => void)[] = [];
  readonly #setAside: SetAside;
  readonly #housekeeping: HousekeepingSchedule;
  readonly #inFlight = new InFlightCommits((commit, failure) => this.#complete(commit, failure));
  readonly #admission: Admission;
  readonly storeRetry: StoreRetry;
  readonly #numbers = new SequenceReserve();
  #inbox: PendingOperation[] = [];
  /** Operations with long replies that wait until there is space for them (W11). */
  readonly #heldBack: PendingOperation[] = [];
  state: BrokerState | null = null;
  #cache: ContentCache;
  #scheduled = false;
  #recovering = false;
  #alarmed = false;
  #closed = false;
  /** Called after every commit with the instant at which the next HTTP delivery is due. */
  onOutgoing: (dueAt: EpochMs | null, now: EpochMs) => void = () => {};
  #closing: Promise<void> | null = null;

  constructor(ports: EnginePorts, identity: BrokerIdentity, options: EngineOptions) {
    this.#ports = ports;
    this.#identity = identity;
    this.#cacheBytesMax = options.cacheBytesMax;
    this.#cache = new ContentCache(options.cacheBytesMax, 1);
    this.#setAside = new SetAside(ports.store);
    this.storeRetry = new StoreRetry(ports.clock, ports.onError);
    this.#time = new BrokerTime(ports.clock, options, ports.onError);
    this.#housekeeping = new HousekeepingSchedule(ports.clock.now());
    this.#admission = new Admission(ports.store.space, {
      onRegained: (waiting) => this.#continueWith(waiting),
      onRefused: () => this.#resolveIdle(),
    });
    this.#alarm = new Alarm(ports.clock, () => {
      this.#alarmed = true;
      this.#schedule();
    });
    if (ports.replySpace !== undefined) ports.replySpace.onSpace = () => this.#resumeHeldBack();
  }

  /** Loads the state from the store. Everything else waits for it. */
  async open(): Promise<void> {
    const { store, clock } = this.#ports;
    const how = { identity: this.#identity, time: this.#time.running, now: clock.now() };
    const { state, fresh, history } = recover(store, how, this.#setAside);
    const now = this.#time.continueFrom(history);
    const value = JSON.stringify(state.identity.secret);
    const document = { collection: "broker", key: "secret", value };
    const changes: Change[] = fresh ? [{ kind: "put-document", document }] : [];
    this.#time.addTo(changes, now);
    // Even an empty commit shows that the store can be written to.
    await store.commit(changes);
    this.#cache = new ContentCache(this.#cacheBytesMax, state.sequence + 1);
    this.#numbers.continueFrom(state.sequence);
    this.state = state;
    this.storeRetry.noteRecovery(store.space?.waitsFor ?? null, now);
    this.#housekeeping.reset(now);
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
    this.#resumeHeldBack();
    await this.idle();
    this.#endLongPolls(); // Those that were still in the inbox and began to wait since.
    if (this.state !== null) await this.#time.saveTo(this.#ports.store);
    await this.#ports.store.close();
  }

  /** A leap of the system clock that is not confirmed; nothing expires by it. */
  get clockLeap(): ClockLeap | null {
    return this.#time.leap();
  }

  get health(): BrokerHealth {
    return this.#admission.health(this.state !== null);
  }

  #endLongPolls(): void {
    for (const id of this.#longPolls.ids) this.#endLongPoll(id);
  }

  #isIdle(): boolean {
    if (this.#scheduled || this.#recovering || this.#admission.looking) return false;
    return this.#inFlight.count === 0;
  }

  /** Runs operations that waited for space, and the work that paused (W10). */
  #continueWith(waiting: readonly PendingOperation[]): void {
    this.#alarmed = !this.#closed;
    for (const operation of waiting) this.submit(operation);
    this.#schedule();
    this.#resolveIdle();
  }

  #resolveIdle(): void {
    if (!this.#isIdle()) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  #mayRun(): boolean {
    if (this.#recovering) return false;
    if (this.#inFlight.count === 0) return this.#inbox.length > 0 || this.#alarmed;
    return this.state !== null && this.#inFlight.takesAnother(this.#inbox.length); // W4, W8
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
    if (this.state !== null) this.#runBatch(this.state);
    else if (this.storeRetry.failedRecently()) this.#rejectAll();
    else void this.#recover();
  }

  #runBatch(state: BrokerState): void {
    const admitted = this.#admission.admit(this.#inbox.splice(0, OPERATIONS_PER_BATCH_MAX));
    let operations = admitted;
    this.#alarmed = false;
    const answered: AnsweredOperation[] = [];
    const { store, random } = this.#ports;
    const space = this.#closed ? undefined : this.#ports.replySpace;
    const batch = new Batch(this.#time.now(), { store, random, space }, this.#cache);
    try {
      for (const [index, operation] of admitted.entries()) {
        const { objects, isFull } = batch;
        if (isFull || (objects.touched && LISTING_OPERATIONS.has(operation.name))) {
          const rest = admitted.slice(index);
          operations = operations.filter((each) => !rest.includes(each));
          this.#inbox.unshift(...rest); // W6, W11
          break;
        }
        if (!batch.mayDeliver && LONG_REPLIES.has(operation.name)) {
          operations = operations.filter((each) => each !== operation);
          this.#heldBack.push(operation); // W11
          continue;
        }
        this.#runOperation(state, batch, operation, answered);
      }
      this.#runBackgroundWork(state, batch, answered);
      this.#housekeeping.noteChanges(batch.changes);
      this.#time.addTo(batch.changes, batch.now);
    } catch (error) {
      this.#fail({ state, operations, answered }, error);
      if (!isStoreDown(error)) this.#continueWithout(batch.damaged);
      this.#schedule(); // For operations that were not part of this batch.
      return;
    }
    assert(this.state === state, "a batch runs on the current state (W8)");
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

  #resumeHeldBack(): void {
    this.#inbox.unshift(...this.#heldBack.splice(0));
    this.#alarmed = true; // For long polls.
    this.#schedule();
  }

  /** Reloads on the next request, or immediately if a damaged message must be skipped (W9). */
  #continueWithout(damaged: number | null): void {
    this.storeRetry.allowNow();
    if (damaged === null) return;
    this.#setAside.add(damaged);
    this.#alarmed = true;
  }

  /** Does not count as a failure: under steady traffic the pause would start over forever. */
  #rejectAll(): void {
    this.#alarmed = false;
    this.#retryLater(); // Timers may be a little early.
    const error = this.storeRetry.recentError();
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
      this.#alarmed = false;
      this.#fail({ state: null, operations: this.#inbox.splice(0), answered: [] }, error);
    }
    this.#recovering = false;
    if (this.#mayRun()) this.#run();
    this.#resolveIdle();
  }

  /** Ends a commit: rejects its operations, or answers them. */
  #complete(commit: InFlightCommit, failure: { readonly error: unknown } | null): void {
    if (failure !== null) {
      this.#fail(commit, failure.error);
    } else if (this.state === commit.state) {
      this.storeRetry.noteCommit();
      this.#admission.noteCommit(null);
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
    this.#longPolls.add(id, operation, () => this.#endLongPoll(id));
  }

  /** Work without a request: move tasks, replays, garbage, housekeeping, answers to long polls. */
  #runBackgroundWork(state: BrokerState, batch: Batch, answered: AnsweredOperation[]): void {
    if (!this.#admission.full) {
      runMoveTasks(state, batch);
      runReplays(state, batch);
    }
    sweepGarbage(state, batch);
    if (this.#housekeeping.isDue(batch.now)) {
      runHousekeeping(state, batch);
      this.#housekeeping.ranAt(batch.now);
    }
    answerLongPolls(state, batch, (id, result) => {
      const operation = this.#longPolls.take(id);
      if (operation !== undefined) answered.push({ operation, result });
    });
  }

  #commit(state: BrokerState, changes: Change[]): Promise<void> {
    if (changes.length === 0) return Promise.resolve();
    this.#numbers.addTo(changes, state.sequence); // W5
    return this.#ports.store.commit(changes);
  }

  #fail({ state, operations, answered }: FailedBatch, error: unknown): void {
    const rejected = new Set([...operations, ...answered.map(({ operation }) => operation)]);
    if (this.state === state) {
      this.state = null; // W3, W8
      for (const poll of this.#longPolls.takeAll()) rejected.add(poll);
      this.#alarm.clear();
      this.#retryLater();
      this.storeRetry.noteFailure(error, this.#time.now());
      this.#admission.noteCommit(error);
      if (this.#admission.hasReserve) this.storeRetry.allowNow(); // W10
    }
    const none = rejected.size === 0;
    if (state !== null) this.#inbox.unshift(...this.#admission.takeRepeatable(rejected, error));
    for (const operation of rejected) operation.reject(error);
    if (none) this.storeRetry.report(error);
  }

  /** Schedules the next reload (W3). */
  #retryLater(): void {
    if (this.#closed) return;
    const now = this.#time.now();
    this.#alarm.setFor(addMs(now, this.storeRetry.pauseMs), now);
  }

  #endLongPoll(id: number): void {
    this.state?.waiting.remove(id);
    this.#longPolls.take(id)?.resolve(succeed({ deliveries: [] }));
  }

  #setAlarm(state: BrokerState, now: EpochMs): void {
    if (this.#closed) return;
    if (state.topics.withHttp.size > 0) this.onOutgoing(nextPendingHttpAt(state, now), now);
    const { replySpace } = this.#ports;
    const { due, wakeAt } = nextWork(state, now, { full: this.#admission.full, replySpace });
    if (due) this.#alarmed = true;
    if (wakeAt !== null) this.#alarm.setFor(wakeAt, now);
    const housekeeping = this.#housekeeping.nextAt(state, now);
    if (housekeeping !== null) this.#alarm.setFor(housekeeping, now);
  }
}
