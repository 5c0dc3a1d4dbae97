// What tests of dead letters share: listing and redriving in virtual time.

import { listDeadLetters } from "../../src/ingest/dead-letters/dead-letter-list.ts";
import {
  Redrive,
  type RedriveEvent,
  type RedriveOptions,
  type RedrivePorts,
  type RedriveSummary,
} from "../../src/ingest/dead-letters/redrive.ts";
import type { DeadLetterFilter } from "../../src/ingest/policy/dead-letter-filter.ts";
import { systemRandom } from "../../src/platform/system-random.ts";
import type { ConsumerWorld } from "./consumer-world.ts";

export const SCOPE = { pipeline: "test", generation: 0 } as const;

export function redrivePorts(world: ConsumerWorld): RedrivePorts {
  const { cloud, ledger, queue: source, deadLetters } = world;
  return { clock: cloud.clock, random: systemRandom, ledger, source, deadLetters };
}

export interface RedriveRun {
  readonly events: RedriveEvent[];
  readonly summary: RedriveSummary;
}

/** Runs a redrive to its end, moving time on meanwhile. */
export async function runRedrive(
  world: ConsumerWorld,
  options: Partial<RedriveOptions> = {},
  ports: RedrivePorts = redrivePorts(world),
): Promise<RedriveRun> {
  const events: RedriveEvent[] = [];
  const run = new Redrive(ports, { scope: SCOPE, ...options });
  const ended = (async () => {
    for await (const event of run) events.push(event);
    return run.summary;
  })();
  return { events, summary: await inTime(world, ended) };
}

/** Waits for a promise while time passes, for ten minutes at most. */
export async function inTime<T>(world: ConsumerWorld, promise: Promise<T>): Promise<T> {
  let over = false;
  const watched = promise.finally(() => {
    over = true;
  });
  watched.catch(() => undefined);
  for (let seconds = 0; seconds < 600 && !over; seconds += 1) {
    await world.settle();
    if (!over) await world.pass(1_000);
  }
  if (!over) throw new Error("it did not end within ten minutes");
  return watched;
}

/** All dead letters of a world's ledger, and with `peek` of its queue. */
export function listIn(
  world: ConsumerWorld,
  filter: DeadLetterFilter = {},
  peek: "peek" | "ledger" = "ledger",
) {
  const { cloud, ledger, deadLetters } = world;
  const ports = { clock: cloud.clock, ledger, ...(peek === "peek" && { queue: deadLetters }) };
  return inTime(world, listDeadLetters(ports, { scope: SCOPE, filter }));
}
