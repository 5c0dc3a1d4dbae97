// Run seed: runs the world of one seed and checks its history.

import { hours } from "../core/units.ts";
import { CHECKERS } from "./checkers/all-checkers.ts";
import type { Checker, Violation } from "./checkers/checker.ts";
import type { FiredFault } from "./faults/call-faults.ts";
import type { FaultMix } from "./faults/fault-mix.ts";
import type { HistoryEvent } from "./history.ts";
import type { Drain } from "./scheduler.ts";
import { drawSwarm } from "./swarm.ts";
import type { Topology } from "./topology.ts";
import { createWorld } from "./world.ts";
import type { WorldParts } from "./world-parts.ts";

export interface RunSeedOptions {
  readonly drain: Drain;
  /** How long faults last, in hours of virtual time. Default: 1. */
  readonly hours?: number;
  /** Ids of the only faults that may fire. Default: all. */
  readonly only?: ReadonlySet<string>;
  /** Names of records that are left out. */
  readonly skipped?: ReadonlySet<string>;
  /** Overrides what the seed draws. */
  readonly topology?: Partial<Topology>;
  readonly mix?: Partial<FaultMix>;
  readonly parts?: Partial<WorldParts>;
  /** Default: all checkers. */
  readonly checkers?: readonly Checker[];
}

export interface SeedReport {
  readonly seed: number;
  readonly topology: Topology;
  readonly mix: FaultMix;
  readonly traceHash: string;
  readonly violations: readonly Violation[];
  readonly fired: readonly FiredFault[];
  readonly events: readonly HistoryEvent[];
  readonly deliveries: number;
  readonly elapsedMs: number;
  /** Events that the scheduler ran. */
  readonly steps: number;
}

export async function runSeed(seed: number, options: RunSeedOptions): Promise<SeedReport> {
  const drawn = drawSwarm(seed);
  const topology = fitting({ ...drawn.topology, ...options.topology });
  const mix = { ...drawn.mix, ...options.mix };
  const { drain, only, skipped, parts, checkers = CHECKERS } = options;
  const world = await createWorld({
    seed,
    topology,
    mix,
    drain,
    faultyMs: hours(options.hours ?? 1),
    ...(only !== undefined && { only }),
    ...(skipped !== undefined && { skipped }),
    ...(parts !== undefined && { parts }),
  });
  await world.run();
  const { events, facts, fired } = world;
  return {
    seed,
    topology,
    mix,
    events,
    fired,
    traceHash: world.traceHash(),
    violations: checkers.flatMap((checker) => checker.check(events, facts)),
    deliveries: events.filter(({ kind }) => kind === "delivered").length,
    elapsedMs: world.elapsedMs(),
    steps: world.services.scheduler.ran,
  };
}

/**
 * Files fill tables if the world has files, and nothing else that writes records of its own. Only
 * messages are archived.
 */
function fitting({ tables, archive = false, ...topology }: Topology): Topology {
  const { contents, sink, backfills = 0 } = topology;
  const fits = contents === "objects" && sink === "transactional" && backfills === 0;
  return {
    ...topology,
    ...(fits && tables !== undefined && { tables }),
    ...(archive && contents === "messages" && { archive }),
  };
}
