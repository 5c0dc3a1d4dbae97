// Session: one run of the comparison. It calls the broker under test, lets the reference follow
// the observed responses, and throws Illegal as soon as the two disagree.
//   S1. The reference changes only by observed responses and by time.
//   S2. An operation responds without time passing, except for receives that may wait.
//   S3. A waiting receive is answered as soon as a message is deliverable, or when its wait ends.

import type { Broker } from "../../../src/broker/engine/broker.ts";
import type { Fault } from "../../../src/broker/model/fault.ts";
import type {
  OperationInput,
  OperationName,
  OperationOutput,
  OperationResult,
  PeekedMessage,
  ReceivedCopy,
} from "../../../src/broker/model/operations.ts";
import type { S3Fault } from "../../../src/broker/model/s3/s3-fault.ts";
import type { Result } from "../../../src/core/result.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import { drain, ManualTime } from "../../support/broker/manual-time.ts";
import { Illegal } from "../reference/choices.ts";
import { isExhausted, takeNow } from "../reference/receiving.ts";
import { step } from "../reference/reference.ts";
import { createRefWorld, expire, queueNamed, type RefWorld } from "../reference/state.ts";
import { agree } from "./agreement.ts";
import { audit, listAll, peekAll } from "./audit.ts";
import { createObservedChoices, type Observation, type Seen } from "./observed-choices.ts";
import type { Subject } from "./subject.ts";

const DRAINS_MAX = 20;
/** After this many stops of one advance, time jumps to the target. */
const STOPS_MAX = 400;

type Answer<K extends OperationName> = OperationResult<K>;

/** A receive that waits. */
export interface Waiter {
  readonly input: OperationInput<"receive">;
  readonly until: number;
  readonly abort: AbortController;
  answer: Answer<"receive"> | null;
  failure: unknown;
}

/** A handle that a receive returned. */
export interface HeldHandle {
  readonly queue: string;
  readonly queueSerial: number;
  readonly handle: string;
}

export class Session {
  readonly world: RefWorld = createRefWorld("000000000000", "us-east-1");
  readonly time = new ManualTime();
  readonly held: HeldHandle[] = [];
  waiters: Waiter[] = [];
  readonly #subject: Subject;
  readonly #seen: Seen = { messageIds: new Set(), handles: new Set() };
  #answered: Waiter[] = [];
  #broker: Broker | null = null;
  #clock: Clock | null = null;
  #bodies = 0;

  constructor(subject: Subject) {
    this.#subject = subject;
  }

  get broker(): Broker {
    if (this.#broker === null) throw new Error("the session was not opened");
    return this.#broker;
  }

  newBody(): string {
    this.#bodies += 1;
    return `m${this.#bodies}`;
  }

  async open(): Promise<void> {
    this.#clock = this.time.view();
    this.#broker = await this.#subject.open(this.#clock);
    await drain();
  }

  /** Calls the broker and expects its response immediately. */
  async ask<K extends OperationName>(name: K, input: OperationInput<K>): Promise<Answer<K>> {
    const answer = await this.#askOnce(name, input);
    if (answer === null) throw new Illegal(`${name} was not answered`); // S2
    return answer;
  }

  async #askOnce<K extends OperationName>(
    name: K,
    input: OperationInput<K>,
  ): Promise<Answer<K> | null> {
    let answer: Answer<K> | null = null;
    let failure: unknown = null;
    this.broker.submit(name, input).then(
      (outcome) => {
        answer = outcome;
      },
      (error) => {
        failure = error;
      },
    );
    for (let i = 0; i < DRAINS_MAX && answer === null && failure === null; i += 1) await drain();
    if (failure !== null) throw new Illegal(`${name} failed: ${failure}`);
    return answer;
  }

  /** Runs one operation on the broker and on the reference, and compares the responses. */
  async run<K extends OperationName>(name: K, input: OperationInput<K>): Promise<Answer<K>> {
    const before = await this.#peekBefore(name, input);
    const answer = await this.ask(name, input);
    await this.#follow(name, input, answer, before);
    await this.settle();
    return answer;
  }

  /** The power fails during the operation: a response means committed, none means undone. */
  async runIntoCrash<K extends OperationName>(name: K, input: OperationInput<K>): Promise<void> {
    const before = await this.#peekBefore(name, input);
    this.#subject.cutPower();
    const answer = await this.#askOnce(name, input);
    await this.#reopen();
    if (answer !== null) await this.#follow(name, input, answer, before);
    await audit(this);
  }

  async restart(): Promise<void> {
    await this.broker.close();
    await drain();
    for (const waiter of this.waiters) {
      agree("a receive ended by closing", { ok: true, value: { deliveries: [] } }, waiter.answer);
    }
    await this.#reopen();
    await audit(this);
  }

  async crash(): Promise<void> {
    this.#subject.cutPower();
    await this.#reopen();
    await audit(this);
  }

  async #reopen(): Promise<void> {
    if (this.#clock !== null) this.time.cutOff(this.#clock);
    this.waiters = [];
    this.#answered = [];
    await this.open();
    expire(this.world, this.time.now());
  }

  /** Starts a receive that may wait, and leaves it waiting. */
  async wait(input: OperationInput<"receive">, waitMs: number): Promise<void> {
    const until = this.time.now() + waitMs;
    const abort = new AbortController();
    const waiter: Waiter = { input, until, abort, answer: null, failure: null };
    this.waiters.push(waiter);
    this.broker.submit("receive", input, abort.signal).then(
      (answer) => {
        waiter.answer = answer;
        this.#answered.push(waiter);
      },
      (error) => {
        waiter.failure = error;
        this.#answered.push(waiter);
      },
    );
    await this.settle();
  }

  /** Aborts a waiting receive. It must not have consumed a message, which the next audit checks. */
  async giveUp(waiter: Waiter): Promise<void> {
    waiter.abort.abort(new Error("the client went away"));
    await drain();
    this.waiters = this.waiters.filter((other) => other !== waiter);
    this.#answered = this.#answered.filter((other) => other !== waiter);
    if (waiter.answer !== null) {
      agree("an aborted receive", { ok: true, value: { deliveries: [] } }, waiter.answer);
    } else if (waiter.failure === null) {
      throw new Illegal("an aborted receive kept waiting");
    }
    await this.settle();
    await audit(this);
  }

  /** Advances time, stopping whenever the broker is due to wake. */
  async advance(spanMs: number): Promise<void> {
    const goal = this.time.now() + spanMs;
    for (let stops = 0; stops < STOPS_MAX; stops += 1) {
      const next = this.time.nextWake();
      if (next === null || next > goal) break;
      this.time.stepTo(next);
      await this.settle();
    }
    this.time.stepTo(goal);
    await this.settle();
  }

  /** Follows all long polls: first those that were answered, then those that must still wait. */
  async settle(): Promise<void> {
    await drain();
    expire(this.world, this.time.now());
    // Dead letters flow from a queue to later ones of this list, never back.
    const rank = (name: string) => (name.includes("-attic") ? 2 : name.includes("-dead") ? 1 : 0);
    const names = this.world.queues.map((queue) => queue.name);
    for (const name of names.toSorted((a, b) => rank(a) - rank(b))) {
      const answered = this.#answered.filter((waiter) => waiter.input.queue === name);
      for (const waiter of answered) await this.#followWaiter(waiter);
      this.#answered = this.#answered.filter((waiter) => !answered.includes(waiter));
      this.waiters = this.waiters.filter((waiter) => !answered.includes(waiter));
      for (const waiter of this.waiters.filter((each) => each.input.queue === name)) {
        await this.#followWaiter(waiter);
      }
    }
  }

  async #followWaiter(waiter: Waiter): Promise<void> {
    const now = this.time.now();
    const { input, answer } = waiter;
    if (waiter.failure !== null) throw new Illegal(`a waiting receive failed: ${waiter.failure}`);
    if (answer !== null && !answer.ok) {
      throw new Illegal(`a waiting receive was refused: ${answer.fault.message}`);
    }
    const deliveries = answer?.value.deliveries ?? [];
    const over = now >= waiter.until;
    if (answer === null && over) throw new Illegal("a receive waited too long"); // S3
    if (answer !== null && deliveries.length === 0 && !over) {
      throw new Illegal("a receive with time to wait came back empty");
    }
    const queue = queueNamed(this.world, input.queue);
    if (queue === undefined) throw new Illegal("a receive waits on a queue that is gone");
    const movedIds = await this.#movedIds(input.queue, null);
    const observed: Observation = { deliveries, movedIds, timedOut: answer !== null && over };
    const choices = createObservedChoices(this.world, this.#seen, observed);
    const expected = takeNow(this.world, queue, input, now, choices);
    agree("a waiting receive", expected, deliveries);
    this.#hold(input.queue, deliveries);
  }

  async #follow<K extends OperationName>(
    name: K,
    input: OperationInput<K>,
    answer: Answer<K>,
    before: readonly PeekedMessage[] | null,
  ): Promise<void> {
    const value = ((answer.ok ? answer.value : null) ?? {}) as {
      results?: OperationOutput<"send">["results"];
      deliveries?: ReceivedCopy[];
      handle?: string;
    };
    const queue = name === "receive" ? (input as OperationInput<"receive">).queue : null;
    const observed: Observation = {
      sent: value.results ?? [],
      deliveries: value.deliveries ?? [],
      movedIds: queue === null ? new Set() : await this.#movedIds(queue, before),
      taskHandle: value.handle ?? "",
    };
    if (!answer.ok && ["send", "receive"].includes(name)) this.#expectRefusal(name, input, answer);
    const choices = createObservedChoices(this.world, this.#seen, observed);
    const expected = step(this.world, name, input, this.time.now(), choices);
    agree(`${name} ${JSON.stringify(input)}`, expected, answer);
    if (queue !== null) this.#hold(queue, value.deliveries ?? []);
  }

  /** Reports an unexpected refusal as such, before a missing choice hides it. */
  #expectRefusal(
    name: OperationName,
    input: unknown,
    answer: Result<unknown, Fault | S3Fault>,
  ): void {
    const copy = structuredClone(this.world);
    const lenient = createObservedChoices(copy, this.#seen, { timedOut: true });
    const plain = { ...lenient, sent: () => ({ messageId: "", sequenceNumber: null }) };
    const expected = step(copy, name, input as never, this.time.now(), plain);
    agree(`${name} ${JSON.stringify(input)}`, expected, answer);
  }

  #hold(queue: string, deliveries: readonly ReceivedCopy[]): void {
    const queueSerial = queueNamed(this.world, queue)?.serial ?? 0;
    for (const delivery of deliveries) {
      this.held.push({ queue, queueSerial, handle: delivery.receiptHandle });
    }
  }

  #hasExhausted(name: string): boolean {
    const queue = queueNamed(this.world, name);
    return queue?.messages.some((message) => isExhausted(queue, message)) ?? false;
  }

  async #peekBefore(name: OperationName, input: unknown): Promise<PeekedMessage[] | null> {
    if (name !== "receive") return null;
    const { queue } = input as OperationInput<"receive">;
    return this.#hasExhausted(queue) ? peekAll(this, queue) : null;
  }

  /** Ids that are gone, or have moved to the end of the same queue since `before`. */
  async #movedIds(name: string, before: readonly PeekedMessage[] | null): Promise<Set<string>> {
    if (!this.#hasExhausted(name)) return new Set();
    const after = await peekAll(this, name);
    const queue = queueNamed(this.world, name);
    const ids = (queue?.messages ?? []).map((message) => message.messageId);
    return new Set(
      ids.filter((id) => {
        const now = after.find((message) => message.messageId === id);
        const then = before?.find((message) => message.messageId === id);
        return now === undefined || (then !== undefined && now.seq !== then.seq);
      }),
    );
  }

  /** Compares all observable state. */
  async audit(): Promise<void> {
    await audit(this);
    await listAll(this);
  }

  /** Choices for a step that the commands follow themselves (move tasks). */
  choicesFor(observed: Observation) {
    return createObservedChoices(this.world, this.#seen, observed);
  }
}
