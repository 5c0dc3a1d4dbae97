// Timeline: faults that happen independently of calls, at instants that the seed draws. Each has a
// name, like the faults of calls, and can be left out on its own.

import type { ConsumerHost } from "../hosts/consumer-host.ts";
import type { SimOperator } from "../hosts/operator.ts";
import type { PollerHost } from "../hosts/poller-host.ts";
import type { HostClock, SimProcess } from "../hosts/process.ts";
import type { ProducerHost } from "../hosts/producer-host.ts";
import type { RelayHost } from "../hosts/relay-host.ts";
import type { Releaser } from "../hosts/releaser.ts";
import type { WorldServices } from "../services.ts";
import { failSync } from "./failed-sync.ts";
import { type FaultMix, TIMELINE_FAULTS, type TimelineFaultKind } from "./fault-mix.ts";
import { createNamedDice, hashText, type NamedDice } from "./named-random.ts";

export interface WorldHosts {
  readonly consumers: readonly ConsumerHost[];
  readonly producers: readonly ProducerHost[];
  readonly relay: RelayHost;
  /** Null in worlds without batches. */
  readonly poller: PollerHost | null;
  readonly operator: SimOperator;
  readonly releaser: Releaser;
  readonly objects: readonly string[];
  readonly broker: HostClock;
}

const FREEZE_MS_MIN = 200;
const FREEZE_MS_MAX = 600_000;
const DOWN_MS_MIN = 500;
const DOWN_MS_MAX = 300_000;
const PAUSE_MS_MIN = 30_000;
const PAUSE_MS_MAX = 1_200_000;
const SKEW_MS_MAX = 900_000;
/** More than a day, so that no store may expire anything by it. */
const LEAP_DAYS_MIN = 2;
const LEAP_DAYS_MAX = 60;
const DAY_MS = 86_400_000;

interface DueFault {
  readonly id: string;
  readonly kind: TimelineFaultKind;
  readonly dice: NamedDice;
}

/**
 * Schedules all faults of the mix between now and `quietAt`. A queue purge happens at a `busyAtMs`:
 * most of the time the queue is empty, and purging it would prove nothing.
 */
export function scheduleTimeline(
  seed: number,
  mix: FaultMix,
  quietAt: number,
  world: FaultyWorld & { readonly busyAtMs: (name: string) => number },
): void {
  const { scheduler, ports } = world.services;
  const dice = createNamedDice(seed, "timeline");
  const from = scheduler.now;
  for (const kind of TIMELINE_FAULTS) {
    for (let count = 1; count <= mix.timeline[kind]; count += 1) {
      const id = `${kind}#${count}`;
      const at =
        kind === "queue-purge"
          ? from + world.busyAtMs(id)
          : Math.floor(from + dice.fraction(`${id} at`) * (quietAt - from));
      scheduler.at(at, hashText(id), () => {
        const fault: DueFault = { id, kind, dice };
        if (ports.faults.fires(id, describe(fault, world.hosts))) inject(fault, world);
      });
    }
  }
}

function describe({ id, kind, dice }: DueFault, hosts: WorldHosts): string {
  switch (kind) {
    case "kill":
      return `${targetOf(dice, id, hosts).name} is killed`;
    case "freeze":
      return `${consumerOf(dice, id, hosts).name} is frozen for ${freezeMs(dice, id)} ms`;
    case "producer-freeze":
      return `${senderOf(dice, id, hosts).name} is frozen for ${freezeMs(dice, id)} ms`;
    case "loop-stall":
      return `the event loop of ${consumerOf(dice, id, hosts).name} stalls for ${freezeMs(dice, id)} ms`;
    case "skew":
      return `the clock of ${consumerOf(dice, id, hosts).name} is off by ${skewMs(dice, id)} ms`;
    case "ledger-down":
    case "queue-down":
    case "sink-down":
      return `${kind.replace("-down", "")} is down for ${downMs(dice, id)} ms`;
    case "drain":
      return `${consumerOf(dice, id, hosts).name} is drained and restarted`;
    case "object-overwritten":
    case "object-deleted":
      return `${objectOf(dice, id, hosts)} is ${kind.replace("object-", "")}`;
    case "broker-restart":
      return "the broker's store fails, and the broker restarts";
    case "redrive":
      return "operator redrives all dead letters";
    case "native-redrive":
      return "operator moves dead letters back with SQS's own redrive";
    case "ledger-purge":
      return "operator purges expired records from the ledger";
    case "late-release":
      return "operator releases held records";
    case "queue-purge":
      return "operator purges the queue";
    case "failed-sync":
      return "the broker's disk fails to sync a commit";
    case "clock-leap":
      return `the clock of ${clockOf(dice, id, hosts).name} is now off by ${leapDays(dice, id)} days`;
    case "pause":
      return `operator pauses the pipeline for ${pauseMs(dice, id)} ms`;
  }
}

/** The services that share an outage. */
const TAKEN_DOWN = {
  "ledger-down": ["ledger", "outbox"],
  "queue-down": ["queue", "dead-letters", "late-queue"],
  "sink-down": ["sink", "archive"],
} as const;

/** What people do. */
const OPERATIONS = {
  redrive: ({ operator }: WorldHosts) => operator.redrive(),
  "native-redrive": ({ operator }: WorldHosts) => operator.redriveNatively(),
  "ledger-purge": ({ operator }: WorldHosts) => operator.purgeLedger(),
  "late-release": ({ releaser }: WorldHosts) => releaser.release(),
  "queue-purge": ({ operator }: WorldHosts) => operator.purgeQueue(),
} as const;

interface FaultyWorld {
  readonly services: WorldServices;
  readonly hosts: WorldHosts;
}

function inject({ id, kind, dice }: DueFault, { services, hosts }: FaultyWorld): void {
  const { scheduler, bucket } = services;
  const consumer = consumerOf(dice, id, hosts);
  switch (kind) {
    case "kill":
      targetOf(dice, id, hosts).kill(dice.word(id));
      return;
    case "freeze":
    case "loop-stall":
      if (kind === "freeze") consumer.freeze();
      else consumer.stallLoop();
      scheduler.after(freezeMs(dice, id), hashText(id), () => consumer.thaw());
      return;
    case "producer-freeze":
      freezeFor(senderOf(dice, id, hosts).process, freezeMs(dice, id), services);
      return;
    case "skew":
      consumer.skew(skewMs(dice, id));
      return;
    case "ledger-down":
    case "queue-down":
    case "sink-down":
      for (const name of TAKEN_DOWN[kind]) {
        services.endpoints[name].downUntil = scheduler.now + downMs(dice, id);
      }
      return;
    case "broker-restart":
      services.storeFaults.next = dice.roll(`${id} how`, 0.5) ? "fail" : "lose-response";
      return;
    case "drain":
      void consumer.drain();
      return;
    case "redrive":
    case "native-redrive":
    case "ledger-purge":
    case "late-release":
    case "queue-purge":
      OPERATIONS[kind](hosts);
      return;
    case "object-overwritten":
      bucket.overwrite(objectOf(dice, id, hosts), scheduler.now);
      return;
    case "object-deleted":
      bucket.destroy(objectOf(dice, id, hosts));
      return;
    case "failed-sync":
      failSync(id, dice, services);
      return;
    case "clock-leap":
      clockOf(dice, id, hosts).clock.aheadMs = leapDays(dice, id) * DAY_MS;
      return;
    case "pause":
      hosts.operator.pause();
      scheduler.after(pauseMs(dice, id), hashText(id), () => hosts.operator.resume());
      return;
  }
}

function consumerOf(dice: NamedDice, id: string, { consumers }: WorldHosts): ConsumerHost {
  return dice.pick(`${id} consumer`, consumers);
}

function targetOf(
  dice: NamedDice,
  id: string,
  hosts: WorldHosts,
): { name: string; kill(word: number): void } {
  const { consumers, producers, relay, poller } = hosts;
  const pollers = poller === null ? [] : [poller];
  return dice.pick(`${id} victim`, [...consumers, ...consumers, ...producers, relay, ...pollers]);
}

function senderOf(
  dice: NamedDice,
  id: string,
  { producers, relay, poller }: WorldHosts,
): { readonly name: string; readonly process: SimProcess | null } {
  return dice.pick(`${id} sender`, [...producers, relay, ...(poller === null ? [] : [poller])]);
}

/** A computer whose clock leaps: of a consumer, a producer, the relay or the broker. */
function clockOf(
  dice: NamedDice,
  id: string,
  { consumers, producers, relay, broker }: WorldHosts,
): { readonly name: string; readonly clock: HostClock } {
  const named = [...consumers, ...producers].map(({ name, hostClock: clock }) => ({ name, clock }));
  const others = [
    { name: "the relay", clock: relay.hostClock },
    { name: "the broker", clock: broker },
  ];
  return dice.pick(`${id} computer`, [...named, ...others]);
}

/**
 * Forward, back, or right again. The number is even, so that two leaps of one clock also differ by
 * more than a day: stores believe a step of a day.
 */
function leapDays(dice: NamedDice, id: string): number {
  const drawn = dice.scaled(`${id} days`, LEAP_DAYS_MIN, LEAP_DAYS_MAX);
  const days = drawn - (drawn % 2);
  return dice.pick(`${id} where`, [days, days, -days, 0]);
}

/** Freezes this process only: a restarted one is not frozen. */
function freezeFor(process: SimProcess | null, ms: number, { scheduler }: WorldServices): void {
  process?.freeze();
  scheduler.after(ms, hashText(process?.name ?? ""), () => process?.thaw());
}

function objectOf(dice: NamedDice, id: string, { objects }: WorldHosts): string {
  return dice.pick(`${id} object`, objects);
}

function freezeMs(dice: NamedDice, id: string): number {
  return dice.scaled(`${id} ms`, FREEZE_MS_MIN, FREEZE_MS_MAX);
}

function downMs(dice: NamedDice, id: string): number {
  return dice.scaled(`${id} ms`, DOWN_MS_MIN, DOWN_MS_MAX);
}

function pauseMs(dice: NamedDice, id: string): number {
  return dice.scaled(`${id} ms`, PAUSE_MS_MIN, PAUSE_MS_MAX);
}

function skewMs(dice: NamedDice, id: string): number {
  const ms = dice.scaled(`${id} ms`, 100, SKEW_MS_MAX);
  return dice.roll(`${id} back`, 0.5) ? -ms : ms;
}
