// Start event source mapping: calls a function with the messages of an embedded cloud's queue, as
// Lambda would.
//   S1. On a cloud with virtual time, time stands still while the function runs, and moves in
//       `advance` and `idle` only. The function itself runs in real time.

import { createBrokerQueue } from "../../cloud/broker-queue.ts";
import { brokerBehind, type PublicCloud } from "../../cloud/public-cloud.ts";
import type { VirtualClock } from "../../cloud/virtual-clock.ts";
import { refuseValue } from "../../core/errors.ts";
import { durationMs, hours, minutes, seconds } from "../../core/units.ts";
import { afterRealTurns } from "../../platform/real-turns.ts";
import { systemClock } from "../../platform/system-clock.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import {
  createEventSourceMapping,
  type FunctionInvocation,
  type MappedFunction,
  type Mapping,
  type MappingOptions,
} from "./event-source-mapping.ts";

/** Which queue to poll, and how. */
export interface EventSourceMappingOptions extends MappingOptions {
  /** Name of the queue. */
  readonly queue: string;
}

/** A running mapping. Disposing it stops it. */
export interface EventSourceMapping extends AsyncDisposable {
  /** The invocations that have ended, oldest first. */
  readonly invocations: readonly FunctionInvocation[];
  /**
   * Resolves when the queue is empty, messages that wait for a retry included. On virtual time it
   * moves time on, for up to 24 hours; then it throws.
   */
  idle(): Promise<void>;
  /** Stops polling, and waits for running invocations. */
  stop(): Promise<void>;
}

const STEP_MS = seconds(1);
const STEP_MS_MAX = minutes(1);
const IDLE_MS_MAX = hours(24);
const POLL_MS = durationMs(20);
/** Turns of the event loop in which everything that does not wait for time comes to rest. */
const TURNS = 50;

/** Polls a queue of a started cloud and calls `handler` with its messages. */
export async function startEventSourceMapping(
  cloud: PublicCloud,
  handler: MappedFunction,
  options: EventSourceMappingOptions,
): Promise<EventSourceMapping> {
  const queue = createBrokerQueue(brokerBehind(cloud), { queue: options.queue });
  const clock = cloud.clock as Partial<VirtualClock> & PublicCloud["clock"];
  const onInvoke = (ended: Promise<void>) => clock.waitFor?.(ended); // S1
  const mapping = createEventSourceMapping(
    { clock, queue, invocationClock: systemClock, onInvoke },
    { handler, functionName: "test" },
    options,
  );
  await mapping.start();
  const stop = () => mapping.stop();
  return {
    invocations: mapping.invocations,
    idle: () => untilIdle(cloud, clock, queue, mapping),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function untilIdle(
  cloud: PublicCloud,
  clock: Partial<VirtualClock> & PublicCloud["clock"],
  queue: Queue,
  mapping: Mapping,
): Promise<void> {
  const startedAt = clock.now();
  let stepMs: number = STEP_MS;
  let before = "";
  for (;;) {
    await rest(cloud);
    const { visible, hidden, delayed } = await queue.facts();
    const open = visible + hidden + delayed;
    if (open === 0 && mapping.inFlight === 0) return;
    if (clock.now() - startedAt > IDLE_MS_MAX) {
      refuseValue(`the queue ${queue.name} still has ${open} messages after 24 hours`);
    }
    const now = `${open} ${mapping.invocations.length}`;
    stepMs = now === before ? Math.min(stepMs * 2, STEP_MS_MAX) : STEP_MS;
    before = now;
    if (clock.advance === undefined) await systemClock.sleep(POLL_MS);
    else await clock.advance(stepMs);
  }
}

/** Lets everything that does not wait for time come to rest. */
async function rest(cloud: PublicCloud): Promise<void> {
  for (let at = 0; at < TURNS; at += 1) await afterRealTurns(() => false);
  await brokerBehind(cloud).idle();
}
