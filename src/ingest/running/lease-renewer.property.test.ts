// Whatever happens to the queue and to the process: if the renewer reports a lease as alive, no
// other consumer has the message. A rival receives every message the moment it becomes visible.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { FaultKind } from "../../broker/model/fault-plan.ts";
import { createBrokerQueue } from "../../cloud/broker-queue.ts";
import { openCloud, type VirtualOpenCloud } from "../../cloud/open-cloud.ts";
import { durationMs, seconds } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { Delivery, Queue } from "../../ports/queue-receiver.ts";
import { SILENT } from "../telemetry/silent-telemetry.ts";
import { createLeaseRenewer } from "./lease-renewer.ts";

const V = seconds(60);
const MESSAGES = 12;
const STEP_MS = V / 12;
const RUNS = 150;

type Command =
  | { readonly kind: "hold" | "drop"; readonly at: number }
  | { readonly kind: "wait"; readonly steps: number }
  | { readonly kind: "fault"; readonly fault: FaultKind; readonly probability: number }
  | { readonly kind: "slow"; readonly latencyMs: number }
  | { readonly kind: "heal" | "freeze" | "thaw" };

const anySteps = fc.integer({ min: 1, max: 12 });
const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ kind: fc.constantFrom("hold", "drop"), at: fc.nat(MESSAGES - 1) }),
  { arbitrary: fc.record({ kind: fc.constant("wait"), steps: anySteps }), weight: 3 },
  fc.record({
    kind: fc.constant("fault"),
    fault: fc.constantFrom("unavailable", "throttle", "drop-acknowledgement"),
    probability: fc.constantFrom(0.3, 0.8, 1),
  }),
  fc.record({ kind: fc.constant("slow"), latencyMs: fc.constantFrom(0, 5_000, 20_000) }),
  fc.record({ kind: fc.constantFrom("heal", "freeze", "thaw") }),
);

/** A process that can be frozen: its timers and responses wait until it is thawed. */
class Process {
  #thaw: (() => void) | null = null;
  #thawed: Promise<void> = Promise.resolve();

  get frozen(): boolean {
    return this.#thaw !== null;
  }

  freeze(): void {
    if (this.frozen) return;
    this.#thawed = new Promise((resolve) => {
      this.#thaw = resolve;
    });
  }

  thaw(): void {
    this.#thaw?.();
    this.#thaw = null;
  }

  async run<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } finally {
      while (this.frozen) await this.#thawed;
    }
  }

  clockOf(clock: Clock): Clock {
    const sleep: Clock["sleep"] = (span, signal) => this.run(clock.sleep(span, signal));
    return { now: () => clock.now(), monotonic: () => clock.monotonic(), sleep };
  }
}

type Changes = Parameters<Queue["changeVisibility"]>[0];

class World {
  readonly cloud: VirtualOpenCloud;
  readonly queue: Queue;
  readonly process = new Process();
  readonly renewer: LeaseRenewer;
  /** How long a response takes; its request took a fifth of that. */
  #latencyMs = seconds(0);
  readonly #receivedAt;
  readonly #deliveries: readonly Delivery[];
  readonly #rival = new AbortController();

  constructor(cloud: VirtualOpenCloud, queue: Queue, deliveries: readonly Delivery[]) {
    this.cloud = cloud;
    this.queue = queue;
    this.#deliveries = deliveries;
    this.#receivedAt = cloud.clock.now();
    const clock = this.process.clockOf(cloud.clock);
    const ours = {
      name: "q",
      changeVisibility: (changes: Changes) => this.process.run(this.#changeVisibility(changes)),
    };
    const scope = { pipeline: "p", generation: 1 };
    const ports = { queue: ours, ledger: null, scope, clock, telemetry: SILENT };
    this.renewer = createLeaseRenewer(ports, { visibilityMs: V, leaseMs: V });
    void this.#compete();
  }

  async #changeVisibility(changes: Changes) {
    const { clock } = this.cloud;
    const latencyMs = this.#latencyMs;
    if (latencyMs > 0) await clock.sleep(durationMs(latencyMs / 5));
    const outcomes = await this.queue.changeVisibility(changes);
    if (latencyMs > 0) await clock.sleep(latencyMs);
    return outcomes;
  }

  async #compete(): Promise<void> {
    const { signal } = this.#rival;
    const request = { max: 10, waitMs: seconds(20), visibilityMs: seconds(7) };
    while (!signal.aborted) {
      // The faults hit only ChangeMessageVisibilityBatch, so the rival never fails.
      const input = { queue: "q", attemptId: null, ...request };
      await this.cloud.broker.submit("receive", input, signal);
    }
  }

  async run(command: Command): Promise<void> {
    switch (command.kind) {
      case "hold": {
        const delivery = this.#deliveries[command.at];
        if (delivery === undefined || this.process.frozen) return;
        this.renewer.track({ receipt: delivery.receipt, since: this.#receivedAt }, () => {});
        return;
      }
      case "drop":
        if (!this.process.frozen) this.renewer.release(this.#deliveries[command.at]?.receipt ?? "");
        return;
      case "wait":
        for (let step = 0; step < command.steps; step += 1) {
          await this.cloud.clock.advance(STEP_MS);
          await this.check();
        }
        return;
      case "fault": {
        const { fault: kind, probability } = command;
        const target = { queue: "q" };
        const actions = ["ChangeMessageVisibilityBatch"];
        this.cloud.broker.faults.put({ kind, target, probability, actions });
        return;
      }
      case "slow":
        this.#latencyMs = durationMs(command.latencyMs);
        return;
      case "heal":
        this.cloud.broker.faults.clear();
        return;
      case "freeze":
        this.process.freeze();
        return;
      case "thaw":
        this.process.thaw();
        // Checked in the same turn, before any overdue timer or response is processed.
        await this.check();
    }
  }

  /** Counts leases that are alive; the message of each must be hidden for us alone. */
  async check(): Promise<number> {
    if (this.process.frozen) return 0;
    const alive = this.#deliveries.filter(({ receipt }) => this.renewer.alive(receipt));
    const input = { queue: "q", afterSeq: 0, limit: MESSAGES };
    const peeked = await this.cloud.broker.submit("peek", input);
    if (!peeked.ok) throw new Error(peeked.fault.message);
    const states = new Map(peeked.value.messages.map((each) => [each.messageId, each]));
    for (const { messageId, receiveCount } of alive) {
      expect(states.get(messageId)).toMatchObject({ state: "in-flight", receiveCount });
    }
    return alive.length;
  }

  async close(): Promise<void> {
    this.process.thaw();
    this.#rival.abort();
    void this.renewer.close(); // A request in flight ends with its world.
  }
}

async function withWorld(use: (world: World) => Promise<void>): Promise<void> {
  await using cloud = await openCloud({ clock: "virtual", setup: { queues: [{ name: "q" }] } });
  const queue = createBrokerQueue(cloud.broker, { queue: "q" });
  for (let at = 0; at < MESSAGES; at += 1) {
    await queue.sendBatch([{ body: String(at), attributes: {}, groupId: null, dedupId: null }]);
  }
  const deliveries: Delivery[] = [];
  while (deliveries.length < MESSAGES) {
    const request = { max: 10, waitMs: seconds(0), visibilityMs: V };
    deliveries.push(...(await queue.receive(request, new AbortController().signal)));
  }
  const world = new World(cloud, queue, deliveries);
  try {
    await use(world);
  } finally {
    await world.close();
  }
}

test("no lease is reported alive after its visibility ran out (H1)", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyCommand, { maxLength: 40 }), (commands) =>
      withWorld(async (world) => {
        // Half of them are tracked from the start, so that every history has a lease to lose.
        for (let at = 0; at < MESSAGES; at += 2) await world.run({ kind: "hold", at });
        for (const command of commands) await world.run(command);
      }),
    ),
    { numRuns: RUNS },
  );
});

test("a process that was frozen past its leases notices immediately, whatever responses it gets", async () => {
  await withWorld(async (world) => {
    for (let at = 0; at < MESSAGES; at += 1) await world.run({ kind: "hold", at });
    await world.run({ kind: "wait", steps: 20 });
    expect(await world.check()).toBe(MESSAGES);
    await world.run({ kind: "freeze" });
    await world.run({ kind: "wait", steps: 20 });
    world.process.thaw();
    expect(await world.check()).toBe(0);
    await world.run({ kind: "wait", steps: 20 });
    expect(await world.check()).toBe(0);
  });
});
