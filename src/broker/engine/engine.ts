// Engine: one writer. Requests that arrive in one turn of the event loop are run one after the
// other against the models in memory, their changes are committed together, and only then is any
// of them answered.
//   W1. An answer goes out only after everything it rests on is durable, reads included: nobody is
//       told of a message that a crash could still take back.
//   W2. All changes of an operation are in one commit, whole or not at all.
//   W3. When a commit fails, everybody in it is told so, and the models are thrown away: they know
//       things that the store does not. They are read anew from the store after a pause, whether
//       anybody asks or not: move tasks and housekeeping have nobody who would ask for them.
//   W4. While a commit is in flight, new requests are collected for the next batch. That batch may
//       run, and its commit may start, before the previous one has ended (in-flight-commits.ts).
//       The models are then ahead of the store, so W1 holds back even the answers of mere reads.
//   W5. Message numbers are reserved ahead, a block at a time: the store knows of no number that is
//       in use and not reserved, and a restart goes on behind the block. Numbers have gaps then,
//       and are never given twice; most commits need not write the counter.
//   W6. What lists objects reads the store alone, so it waits for the batch that changes some.
//   W7. The next commit is begun before the answers of the former are written: the disk works while
//       the answers go out.
//   W8. A failure throws away the models that it is about, and no others: one that is told late
//       leaves alone what was read anew since. Nothing is read anew while a commit is under way.
//   W9. An operation that fails by itself costs those of its batch, and no pause, as the store
//       works. A message that the disk has damaged is left out from then on (set-aside.ts); an
//       object that it has damaged fails those alone who ask for it (run-step.ts).

import type { Change } from "../../core/broker-change.ts";
import { TidegateError } from "../../core/errors.ts";
import { succeed } from "../../core/result.ts";
import { addMs, durationMs, type EpochMs, epochMs } from "../../core/units.ts";
import type { BrokerStore } from "../../ports/broker-store.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Turn } from "../../ports/turn.ts";
import type { BrokerIdentity, BrokerState } from "../model/broker-state.ts";
import {
  hasHousekeeping,
  nextHousekeepingAt,
  runHousekeeping,
  sweepGarbage,
} from "../model/housekeeping.ts";
import { nextPendingHttpAt } from "../model/sns/pending-http.ts";
import { runReplays } from "../model/sns/replay.ts";
import { answerLongPolls } from "../model/sqs/answer-long-polls.ts";
import { nextMoveAt, runMoveTasks } from "../model/sqs/move-tasks/move-task.ts";
import { Alarm } from "./alarm.ts";
import { Batch } from "./batch.ts";
import { ContentCache } from "./content-cache.ts";
import { type InFlightCommit, InFlightCommits } from "./in-flight-commits.ts";
import { ModelTime } from "./model-time.ts";
import type { Answered, PendingOperation } from "./pending-operation.ts";
import { recover } from "./recovery.ts";
import { runStep } from "./run-step.ts";
import { LISTING_OPERATIONS } from "./s3-steps.ts";
import { isStoreDown, SetAside } from "./set-aside.ts";

const JOBS_PER_BATCH_MAX = 1_000;
/** How many message numbers are reserved at a time (W5). */
const SEQUENCE_BLOCK = 4_096;
const HOUSEKEEPING_MS = durationMs(60_000);
/** A store that fails is not asked more often than this, however many requests come in. */
const STORE_RETRY_MS = 250;
/** While nobody asks, the pauses double up to this: each attempt reads the whole store. */
const STORE_RETRY_MS_MAX = 8_000;

export interface EnginePorts {
  readonly store: BrokerStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly turn: Turn;
  /** Hears of failures that nobody asked for, as of a move task: no answer would tell of them. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

interface WaitingJob {
  readonly job: PendingOperation;
  readonly giveUp: () => void;
}

/** Those who must hear of a failure, and the models it is about; null if there were none. */
interface Failed {
  readonly state: BrokerState | null;
  readonly jobs: readonly PendingOperation[];
  readonly answered: readonly Answered[];
}

export class Engine {
  readonly #ports: EnginePorts;
  readonly #identity: BrokerIdentity;
  readonly #cacheBytesMax: number;
  readonly #time: ModelTime;
  readonly #alarm: Alarm;
  readonly #waiting = new Map<number, WaitingJob>();
  readonly #idleWaiters: (() => void)[] = [];
  readonly #setAside: SetAside;
  readonly #flights = new InFlightCommits((flight, failure) => this.#land(flight, failure));
  #inbox: PendingOperation[] = [];
  #state: BrokerState | null = null;
  #cache: ContentCache;
  #houseKeptAt: EpochMs;
  /** Late rounds are harmless, so that what is computed once holds until then. */
  #nextRoundsAt: EpochMs | null = null;
  /** Nothing to keep house for was found, and nothing has come since. */
  #houseIsEmpty = false;
  #reservedThrough = 0;
  #storeFailedAt = Number.NEGATIVE_INFINITY;
  #retryMs = STORE_RETRY_MS;
  #scheduled = false;
  #recovering = false;
  #alarmed = false;
  #closed = false;
  /** Told after every batch when the next request to an http endpoint is due. */
  onOutgoing: (dueAt: EpochMs | null, now: EpochMs) => void = () => {};
  #closing: Promise<void> | null = null;

  constructor(ports: EnginePorts, identity: BrokerIdentity, cacheBytesMax: number) {
    this.#ports = ports;
    this.#identity = identity;
    this.#cacheBytesMax = cacheBytesMax;
    this.#cache = new ContentCache(cacheBytesMax, 1);
    this.#setAside = new SetAside(ports.store);
    this.#time = new ModelTime(ports.clock);
    this.#houseKeptAt = this.#time.now();
    this.#alarm = new Alarm(ports.clock, () => {
      this.#alarmed = true;
      this.#schedule();
    });
  }

  /** Reads the store. Everything else waits for it. */
  async open(): Promise<void> {
    const now = this.#time.now();
    const { store } = this.#ports;
    const { state, fresh, latest } = recover(store, this.#identity, now, this.#setAside);
    this.#time.goOnFrom(latest);
    const value = JSON.stringify(state.identity.secret);
    const document = { collection: "broker", key: "secret", value };
    // Even an empty commit shows that the store can be written to.
    await store.commit(fresh ? [{ kind: "put-document", document }] : []);
    this.#cache = new ContentCache(this.#cacheBytesMax, state.sequence + 1);
    this.#reservedThrough = state.sequence;
    this.#state = state;
    this.#nextRoundsAt = null;
    this.#houseIsEmpty = false;
    this.#alarmed = true; // Move tasks and garbage of an earlier run want to go on.
    this.#schedule();
  }

  submit(job: PendingOperation): void {
    if (this.#closed) {
      job.reject(new TidegateError("TG_CLOSED", "The broker has been closed."));
      return;
    }
    this.#inbox.push(job);
    this.#schedule();
  }

  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** However often it is asked, it closes once, and resolves when that is done. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#closed = true;
    this.#alarm.clear();
    this.#endWaiting();
    await this.idle();
    this.#endWaiting(); // Those that were still in the inbox and began to wait since.
    await this.#ports.store.close();
  }

  /** False from a failure of the store until it has been read anew. */
  get healthy(): boolean {
    return this.#state !== null;
  }

  #endWaiting(): void {
    for (const id of [...this.#waiting.keys()]) this.#giveUp(id);
  }

  #isIdle(): boolean {
    return !this.#scheduled && !this.#recovering && this.#flights.count === 0;
  }

  #tellIdle(): void {
    if (!this.#isIdle()) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  #mayRun(): boolean {
    if (this.#recovering) return false;
    if (this.#flights.count === 0) return this.#inbox.length > 0 || this.#alarmed;
    return this.#state !== null && this.#flights.takesAnother(this.#inbox.length); // W4, W8
  }

  #schedule(): void {
    if (this.#scheduled || !this.#mayRun()) return;
    this.#scheduled = true;
    this.#ports.turn.afterTurn(() => {
      this.#scheduled = false;
      if (this.#mayRun()) this.#run();
      this.#tellIdle();
    });
  }

  #run(): void {
    if (this.#state !== null) this.#runBatch(this.#state);
    else if (this.#storeRests()) this.#refuseAll();
    else void this.#recover();
  }

  #runBatch(state: BrokerState): void {
    const jobs = this.#inbox.splice(0, JOBS_PER_BATCH_MAX);
    this.#alarmed = false;
    const answered: Answered[] = [];
    const { store, random } = this.#ports;
    const batch = new Batch(this.#time.now(), store, this.#cache, random);
    try {
      for (const [index, job] of jobs.entries()) {
        if (batch.objects.touched && LISTING_OPERATIONS.has(job.name)) {
          this.#inbox.unshift(...jobs.splice(index)); // W6
          break;
        }
        this.#runJob(state, batch, job, answered);
      }
      this.#runByItself(state, batch, answered);
      if (this.#houseIsEmpty) this.#houseIsEmpty = !batch.changes.some(hasHousekeeping);
    } catch (error) {
      this.#fail({ state, jobs, answered }, error);
      if (!isStoreDown(error)) this.#goOnWithout(batch.damaged);
      this.#schedule(); // For those that were not part of it.
      return;
    }
    const alone = batch.objects.touched;
    const flight = { state, now: batch.now, jobs, answered, alone, turned: false };
    this.#flights.begin(flight, this.#commit(state, batch.changes));
    if (batch.changes.length > 0) {
      this.#ports.turn.afterTurn(() => {
        flight.turned = true;
      });
    }
    this.#schedule();
  }

  /** The models are read anew as soon as anybody asks, and at once to leave a message out (W9). */
  #goOnWithout(damaged: number | null): void {
    this.#storeFailedAt = Number.NEGATIVE_INFINITY;
    if (damaged === null) return;
    this.#setAside.add(damaged);
    this.#alarmed = true;
  }

  #storeRests(): boolean {
    return this.#ports.clock.monotonic() - this.#storeFailedAt < STORE_RETRY_MS;
  }

  /** Not a failure of its own: under steady traffic the pause would begin anew for ever. */
  #refuseAll(): void {
    this.#alarmed = false;
    this.#retryLater(); // Timers may be a little early.
    const error = new TidegateError("TG_STORE_UNAVAILABLE", "The store has just failed.");
    for (const job of this.#inbox.splice(0)) job.reject(error);
  }

  /** Reads the models anew, which a failure has thrown away (W3). */
  async #recover(): Promise<void> {
    this.#recovering = true;
    try {
      await this.open();
    } catch (error) {
      const jobs = this.#inbox.splice(0);
      this.#alarmed = false;
      this.#fail({ state: null, jobs, answered: [] }, error);
    }
    this.#recovering = false;
    if (this.#mayRun()) this.#run();
    this.#tellIdle();
  }

  /** What came of a batch is known. */
  #land(flight: InFlightCommit, failure: { readonly error: unknown } | null): void {
    if (failure !== null) {
      this.#fail(flight, failure.error);
    } else if (this.#state === flight.state) {
      this.#retryMs = STORE_RETRY_MS;
      this.#setAlarm(flight.state, flight.now);
    }
    // What came during a commit is on its way to the disk before the answers are written (W7); but
    // only where the commit took its time, as otherwise nobody else would have a turn.
    if (flight.turned && this.#inbox.length > 0 && this.#mayRun()) this.#run();
    else this.#schedule();
    if (failure === null) {
      for (const { job, outcome } of flight.answered) job.resolve(outcome); // W1
    }
    this.#tellIdle();
  }

  #runJob(state: BrokerState, batch: Batch, job: PendingOperation, answered: Answered[]): void {
    if (job.signal?.aborted && job.name === "receive") {
      answered.push({ job, outcome: succeed({ deliveries: [] }) });
      return;
    }
    const outcome = runStep(state, batch, job);
    if (outcome === null) return; // W9
    if (!("waiting" in outcome)) {
      answered.push({ job, outcome });
      return;
    }
    const id = outcome.waiting;
    const giveUp = () => this.#giveUp(id);
    this.#waiting.set(id, { job, giveUp });
    job.signal?.addEventListener("abort", giveUp, { once: true });
  }

  /** The job of a receive that waits no longer. Its signal may outlive it by far. */
  #takeWaiting(id: number): PendingOperation | undefined {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return undefined;
    this.#waiting.delete(id);
    waiting.job.signal?.removeEventListener("abort", waiting.giveUp);
    return waiting.job;
  }

  /** What happens without anybody asking: long polls end, moves go on, the house is kept. */
  #runByItself(state: BrokerState, batch: Batch, answered: Answered[]): void {
    runMoveTasks(state, batch);
    runReplays(state, batch);
    sweepGarbage(state, batch);
    if (batch.now >= addMs(this.#houseKeptAt, HOUSEKEEPING_MS)) {
      runHousekeeping(state, batch);
      this.#houseKeptAt = batch.now;
    }
    answerLongPolls(state, batch, (id, outcome) => {
      const job = this.#takeWaiting(id);
      if (job !== undefined) answered.push({ job, outcome });
    });
  }

  #commit(state: BrokerState, changes: Change[]): Promise<void> {
    if (changes.length === 0) return Promise.resolve();
    if (state.sequence > this.#reservedThrough) {
      this.#reservedThrough = state.sequence + SEQUENCE_BLOCK; // W5
      changes.push({ kind: "set-sequence", seq: this.#reservedThrough });
    }
    return this.#ports.store.commit(changes);
  }

  #fail({ state, jobs, answered }: Failed, error: unknown): void {
    const all = new Set([...jobs, ...answered.map(({ job }) => job)]);
    if (this.#state === state) {
      this.#state = null; // W3, W8
      this.#storeFailedAt = this.#ports.clock.monotonic();
      for (const id of [...this.#waiting.keys()])
        all.add(this.#takeWaiting(id) as PendingOperation);
      this.#alarm.clear();
      this.#retryLater();
      this.#retryMs = Math.min(this.#retryMs * 2, STORE_RETRY_MS_MAX);
    }
    for (const job of all) job.reject(error);
    if (all.size === 0) this.#ports.onError?.(error);
  }

  /** Sees to it that the store is asked again (W3). */
  #retryLater(): void {
    if (this.#closed) return;
    const now = this.#time.now();
    this.#alarm.setFor(addMs(now, durationMs(this.#retryMs)), now);
  }

  #giveUp(id: number): void {
    this.#state?.waiting.remove(id);
    this.#takeWaiting(id)?.resolve(succeed({ deliveries: [] }));
  }

  #setAlarm(state: BrokerState, now: EpochMs): void {
    if (this.#closed) return;
    if (state.garbage.length > 0 || state.topics.replaying.size > 0) this.#alarmed = true;
    if (state.topics.couriered.size > 0) this.onOutgoing(nextPendingHttpAt(state, now), now);
    const wake = state.waiting.nextWakeAt();
    const move = nextMoveAt(state);
    if (wake !== null) this.#alarm.setFor(wake, now);
    if (move !== null && move <= now) this.#alarmed = true;
    else if (move !== null) this.#alarm.setFor(move, now);
    const known = this.#nextRoundsAt !== null && now < this.#nextRoundsAt;
    if (!known && !this.#houseIsEmpty) {
      const work = nextHousekeepingAt(state);
      const rounds = addMs(this.#houseKeptAt, HOUSEKEEPING_MS);
      this.#nextRoundsAt = work === null ? null : epochMs(Math.max(work, rounds));
      this.#houseIsEmpty = work === null;
    }
    if (this.#nextRoundsAt !== null) this.#alarm.setFor(this.#nextRoundsAt, now);
  }
}
