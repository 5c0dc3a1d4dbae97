// Scenario: the smallest world in which something once went wrong, written by hand in virtual time.
// The simulator found each of them; these tests keep them from coming back.

import { afterPromiseJobs } from "../../src/platform/system-turn.ts";
import { CHECKERS } from "../../src/sim/checkers/all-checkers.ts";
import type { Violation } from "../../src/sim/checkers/checker.ts";
import type { CallFaultKind } from "../../src/sim/faults/call-faults.ts";
import { NO_FAULTS } from "../../src/sim/faults/fault-mix.ts";
import type { HistoryEvent } from "../../src/sim/history.ts";
import { PLAIN_TOPOLOGY, type Topology } from "../../src/sim/topology.ts";
import type { HandlerPlan, WorkloadItem } from "../../src/sim/workload.ts";
import { createWorld, type World } from "../../src/sim/world.ts";

export interface Scenario {
  readonly topology?: Partial<Topology>;
  readonly items: readonly WorkloadItem[];
  /** Call faults, by id. */
  readonly faults?: Readonly<Record<string, CallFaultKind>>;
  /** Schedules further events of the world. */
  readonly script?: (world: World) => void;
}

const FAULTY_MS = 180_000;

export async function play(
  scenario: Scenario,
): Promise<{ violations: Violation[]; events: readonly HistoryEvent[] }> {
  const { items, faults = {}, script } = scenario;
  const world = await createWorld({
    seed: 1,
    topology: { ...PLAIN_TOPOLOGY, ...scenario.topology },
    mix: NO_FAULTS,
    faultyMs: FAULTY_MS,
    items,
    planned: new Map(Object.entries(faults)),
    drain: afterPromiseJobs,
  });
  script?.(world);
  await world.run();
  const { events, facts } = world;
  return { events, violations: CHECKERS.flatMap((checker) => checker.check(events, facts)) };
}

/** A record that is sent at `atMs`. Default: a quick handler that succeeds. */
export function item(
  name: string,
  atMs: number,
  more: Partial<Omit<WorkloadItem, "plan">> & { readonly plan?: Partial<HandlerPlan> } = {},
): WorkloadItem {
  const plan = { durationMs: 5, failures: 0, poison: false, hanging: false, ...more.plan };
  return { name, atMs, producer: 1, group: "g1", change: "put", lateMs: 0, ...more, plan };
}

/** The kinds of a record's events, in order. */
export function eventKindsOf(events: readonly HistoryEvent[], name: string): string[] {
  return events.filter((event) => "name" in event && event.name === name).map(({ kind }) => kind);
}
