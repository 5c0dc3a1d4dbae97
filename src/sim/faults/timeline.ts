// Timeline: what befalls a world by itself, at instants that the seed draws. Each such fault has a
// name, as the faults of calls have, and can be left out alone.

import type { ConsumerHost } from "../hosts/consumer-host.ts";
import type { Operator } from "../hosts/operator.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { ProducerHost } from "../hosts/producer-host.ts";
import type { RelayHost } from "../hosts/relay-host.ts";
import type { WorldServices } from "../services.ts";
import { type FaultMix, TIMELINE_FAULTS, type TimelineFaultKind } from "./fault-mix.ts";
import { createNamedDice, hashText, type NamedDice } from "./named-random.ts";

export interface Cast {
  readonly consumers: readonly ConsumerHost[];
  readonly producers: readonly ProducerHost[];
  readonly relay: RelayHost;
  readonly operator: Operator;
  readonly objects: readonly string[];
}

const FREEZE_MS_MIN = 200;
const FREEZE_MS_MAX = 600_000;
const DOWN_MS_MIN = 500;
const DOWN_MS_MAX = 300_000;
const SKEW_MS_MAX = 900_000;

interface Blow {
  readonly id: string;
  readonly kind: TimelineFaultKind;
  readonly dice: NamedDice;
}

/**
 * Schedules all faults of the mix between now and `quietAt`. A purge strikes at a `busyAtMs`: most
 * of the time the queue is empty, and a purge would prove nothing.
 */
export function scheduleTimeline(
  seed: number,
  mix: FaultMix,
  quietAt: number,
  world: {
    readonly stage: WorldServices;
    readonly cast: Cast;
    readonly busyAtMs: (name: string) => number;
  },
): void {
  const { scheduler, ports } = world.stage;
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
        const blow: Blow = { id, kind, dice };
        if (ports.faults.strikes(id, describe(blow, world.cast))) strike(blow, world);
      });
    }
  }
}

function describe({ id, kind, dice }: Blow, cast: Cast): string {
  switch (kind) {
    case "kill":
      return `${victimOf(dice, id, cast).name} is killed`;
    case "freeze":
      return `${consumerOf(dice, id, cast).name} is frozen for ${freezeMs(dice, id)} ms`;
    case "producer-freeze":
      return `${senderOf(dice, id, cast).name} is frozen for ${freezeMs(dice, id)} ms`;
    case "loop-stall":
      return `the event loop of ${consumerOf(dice, id, cast).name} stalls for ${freezeMs(dice, id)} ms`;
    case "skew":
      return `the clock of ${consumerOf(dice, id, cast).name} jumps to ${skewMs(dice, id)} ms off`;
    case "ledger-down":
    case "queue-down":
    case "sink-down":
      return `${kind.replace("-down", "")} is down for ${downMs(dice, id)} ms`;
    case "drain":
      return `${consumerOf(dice, id, cast).name} is drained and started again`;
    case "object-overwritten":
    case "object-deleted":
      return `${objectOf(dice, id, cast)} is ${kind.replace("object-", "")}`;
    default:
      return kind.replace("-", " ");
  }
}

function strike({ id, kind, dice }: Blow, world: { stage: WorldServices; cast: Cast }): void {
  const { stage, cast } = world;
  const { scheduler, services } = stage;
  const consumer = consumerOf(dice, id, cast);
  const down = () => scheduler.now + downMs(dice, id);
  switch (kind) {
    case "kill":
      victimOf(dice, id, cast).kill(dice.word(id));
      return;
    case "freeze":
    case "loop-stall":
      if (kind === "freeze") consumer.freeze();
      else consumer.stallLoop();
      scheduler.after(freezeMs(dice, id), hashText(id), () => consumer.thaw());
      return;
    case "producer-freeze":
      freezeFor(senderOf(dice, id, cast).process, freezeMs(dice, id), stage);
      return;
    case "skew":
      consumer.skew(skewMs(dice, id));
      return;
    case "ledger-down":
      services.ledger.downUntil = down();
      services.outbox.downUntil = down();
      return;
    case "queue-down":
      services.queue.downUntil = down();
      services["dead-letters"].downUntil = down();
      return;
    case "sink-down":
      services.sink.downUntil = down();
      return;
    case "broker-restart":
      stage.storeTrouble.next = dice.chance(`${id} how`, 0.5) ? "fails" : "is-lost";
      return;
    case "drain":
      void consumer.drain();
      return;
    case "redrive":
      cast.operator.redrive();
      return;
    case "native-redrive":
      cast.operator.redriveNatively();
      return;
    case "ledger-purge":
      cast.operator.purgeLedger();
      return;
    case "queue-purge":
      cast.operator.purgeQueue();
      return;
    case "object-overwritten":
      stage.bucket.overwrite(objectOf(dice, id, cast));
      return;
    case "object-deleted":
      stage.bucket.destroy(objectOf(dice, id, cast));
      return;
  }
}

function consumerOf(dice: NamedDice, id: string, { consumers }: Cast): ConsumerHost {
  return dice.pick(`${id} consumer`, consumers);
}

function victimOf(
  dice: NamedDice,
  id: string,
  cast: Cast,
): { name: string; kill(word: number): void } {
  const { consumers, producers, relay } = cast;
  return dice.pick(`${id} victim`, [...consumers, ...consumers, ...producers, relay]);
}

function senderOf(
  dice: NamedDice,
  id: string,
  { producers, relay }: Cast,
): { readonly name: string; readonly process: SimProcess | null } {
  return dice.pick(`${id} sender`, [...producers, relay]);
}

/** That life of it, and no later one: whoever starts anew is not frozen. */
function freezeFor(process: SimProcess | null, ms: number, { scheduler }: WorldServices): void {
  process?.freeze();
  scheduler.after(ms, hashText(process?.name ?? ""), () => process?.thaw());
}

function objectOf(dice: NamedDice, id: string, { objects }: Cast): string {
  return dice.pick(`${id} object`, objects);
}

function freezeMs(dice: NamedDice, id: string): number {
  return dice.scaled(`${id} ms`, FREEZE_MS_MIN, FREEZE_MS_MAX);
}

function downMs(dice: NamedDice, id: string): number {
  return dice.scaled(`${id} ms`, DOWN_MS_MIN, DOWN_MS_MAX);
}

function skewMs(dice: NamedDice, id: string): number {
  const ms = dice.scaled(`${id} ms`, 100, SKEW_MS_MAX);
  return dice.chance(`${id} back`, 0.5) ? -ms : ms;
}
