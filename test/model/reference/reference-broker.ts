// The reference as a Broker, so that the comparison can be tested on itself and on planted bugs.
//   B1. Its disk is one copy of the world, written before each response.
//   B2. A waiting receive is tried again after every operation and at every instant at which
//       something may become visible or expire.

import type { Broker } from "../../../src/broker/engine/broker.ts";
import type { Fault } from "../../../src/broker/model/fault.ts";
import { FaultPlan } from "../../../src/broker/model/fault-plan.ts";
import type {
  OperationInput,
  OperationName,
  OperationOutput,
  OperationResult,
} from "../../../src/broker/model/operations.ts";
import { type Result, succeed } from "../../../src/core/result.ts";
import { durationMs } from "../../../src/core/units.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import { type Choices, createPlainChoices } from "./choices.ts";
import { runMoveTask } from "./moving.ts";
import { takeNow } from "./receiving.ts";
import { step } from "./reference.ts";
import { attributeMs, createRefWorld, expire, queueNamed, type RefWorld } from "./state.ts";

/** The state that survives a reference broker. */
export interface RefDisk {
  world: RefWorld;
  counter: number;
  /** Set by a crash during an operation: nothing is written or answered after that. */
  dead: boolean;
}

export function createRefDisk(): RefDisk {
  return { world: createRefWorld("000000000000", "us-east-1"), counter: 0, dead: false };
}

/** Defects that a planted bug may have. */
export interface PlantedBug {
  readonly onStart?: (world: RefWorld) => void;
  readonly beforeStep?: (world: RefWorld, name: OperationName, input: unknown) => void;
  readonly afterStep?: (
    world: RefWorld,
    name: OperationName,
    outcome: Result<unknown, Fault>,
  ) => void;
  readonly choices?: (plain: Choices) => Choices;
  readonly neverWakes?: boolean;
  readonly abortTakes?: boolean;
  readonly answersEarly?: boolean;
}

interface Waiter {
  readonly input: OperationInput<"receive">;
  readonly until: number;
  readonly resolve: (outcome: Result<OperationOutput<"receive">, Fault>) => void;
}

class ReferenceBroker implements Broker {
  readonly account = "000000000000";
  readonly region = "us-east-1";
  readonly health = "ok";
  readonly clockLeap = null;
  readonly outage = null;
  readonly resourcePolicy = () => undefined;
  readonly topicOfSubscription = () => undefined;
  readonly faults = new FaultPlan();
  readonly #disk: RefDisk;
  readonly #clock: Clock;
  readonly #bug: PlantedBug;
  readonly #world: RefWorld;
  readonly #choices: Choices;
  #waiters: Waiter[] = [];
  #timer = new AbortController();

  constructor(disk: RefDisk, clock: Clock, bug: PlantedBug) {
    this.#disk = disk;
    this.#clock = clock;
    this.#bug = bug;
    this.#world = structuredClone(disk.world);
    bug.onStart?.(this.#world);
    const next = () => {
      disk.counter += 1;
      return disk.counter;
    };
    const plain = createPlainChoices(next, () => clock.now());
    this.#choices = bug.choices?.(plain) ?? plain;
  }

  async submit<K extends OperationName>(
    name: K,
    input: OperationInput<K>,
    signal?: AbortSignal,
  ): Promise<OperationResult<K>> {
    await Promise.resolve();
    this.#bug.beforeStep?.(this.#world, name, input);
    const outcome = step(this.#world, name, input, this.#clock.now(), this.#choices);
    this.#bug.afterStep?.(this.#world, name, outcome);
    const committed = this.#commit();
    if (!this.#bug.answersEarly) await committed;
    if (name === "startMoveTask" && outcome.ok) queueMicrotask(() => this.#runTasks());
    if (name === "receive") {
      const waiting = input as OperationInput<"receive">;
      const empty = outcome as Result<OperationOutput<"receive">, Fault>;
      if (empty.ok && empty.value.deliveries.length === 0) {
        const answer = this.#wait(waiting, empty, signal);
        this.#wake();
        return answer as Promise<OperationResult<K>>;
      }
    }
    this.#wake();
    return outcome as OperationResult<K>;
  }

  async idle(): Promise<void> {}

  async close(): Promise<void> {
    for (const waiter of this.#waiters) waiter.resolve(succeed({ deliveries: [] }));
    this.#waiters = [];
    this.#timer.abort();
    await this.#commit();
  }

  async #commit(): Promise<void> {
    if (this.#disk.dead) await new Promise(() => {});
    this.#disk.world = structuredClone(this.#world); // B1
  }

  #wait(
    input: OperationInput<"receive">,
    empty: Result<OperationOutput<"receive">, Fault>,
    signal: AbortSignal | undefined,
  ): Promise<Result<OperationOutput<"receive">, Fault>> {
    const queue = queueNamed(this.#world, input.queue);
    const queueWaitMs =
      queue === undefined ? 0 : attributeMs(queue, "ReceiveMessageWaitTimeSeconds");
    const waitMs = input.waitMs ?? queueWaitMs;
    if (waitMs === 0) return Promise.resolve(empty);
    return new Promise((resolve) => {
      const waiter = { input, until: this.#clock.now() + waitMs, resolve };
      this.#waiters.push(waiter);
      signal?.addEventListener("abort", () => {
        if (!this.#bug.abortTakes) this.#waiters = this.#waiters.filter((w) => w !== waiter);
        resolve(empty);
      });
    });
  }

  #wake(): void {
    if (this.#disk.dead) return;
    const now = this.#clock.now();
    expire(this.#world, now);
    for (const waiter of [...this.#waiters]) {
      const queue = queueNamed(this.#world, waiter.input.queue);
      const deliveries =
        queue === undefined || this.#bug.neverWakes
          ? []
          : takeNow(this.#world, queue, waiter.input, now, this.#choices);
      if (deliveries.length === 0 && now < waiter.until) continue;
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
      this.#disk.world = structuredClone(this.#world);
      waiter.resolve(succeed({ deliveries }));
    }
    this.#disk.world = structuredClone(this.#world);
    this.#timer.abort();
    if (this.#waiters.length > 0) this.#sleep(now);
  }

  #sleep(now: number): void {
    const instants = this.#waiters.map((waiter) => waiter.until); // B2
    for (const queue of this.#world.queues) {
      const retentionMs = attributeMs(queue, "MessageRetentionPeriod");
      for (const message of queue.messages) {
        instants.push(message.dueAt, message.sentAt + retentionMs);
      }
    }
    const next = Math.min(...instants.filter((instant) => instant > now));
    this.#timer = new AbortController();
    this.#clock.sleep(durationMs(next - now), this.#timer.signal).then(
      () => this.#wake(),
      () => {},
    );
  }

  #runTasks(): void {
    for (const task of this.#world.tasks) {
      if (task.status === "RUNNING") runMoveTask(this.#world, task, this.#choices);
    }
    this.#wake();
  }
}

export function createReferenceBroker(disk: RefDisk, clock: Clock, bug: PlantedBug = {}): Broker {
  return new ReferenceBroker(disk, clock, bug);
}
