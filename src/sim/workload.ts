// Workload: the records of a world: when they are sent and what their handler does.
//   W1. Every record is drawn by its own name, so that leaving some out changes no other.
//   W2. A probe is sent after the faults have stopped: it must succeed at its first attempt.

import { createNamedDice, type NamedDice } from "./faults/named-random.ts";
import type { Topology } from "./topology.ts";

/** What a record's handler does. */
export interface HandlerPlan {
  readonly durationMs: number;
  /** Attempts that fail before the first success; `HOPELESS` if all fail. */
  readonly failures: number;
  /** Fails permanently, until its cause is repaired. */
  readonly poison: boolean;
  /** Never ends by itself, until its cause is repaired. */
  readonly hanging: boolean;
  /** Governance refuses its payload. */
  readonly refused?: boolean;
  /** Governance has its payload masked. */
  readonly masked?: boolean;
}

export interface WorkloadItem {
  readonly name: string;
  /** Counted from the start of the world. */
  readonly atMs: number;
  readonly producer: number;
  /** The message group, or the object's key. */
  readonly group: string;
  readonly change: "put" | "removed";
  /** How much older its event time is than `atMs`. */
  readonly lateMs: number;
  readonly plan: HandlerPlan;
}

/** More attempts than any pipeline makes. */
export const HOPELESS = Number.MAX_SAFE_INTEGER;
const QUICK: HandlerPlan = { durationMs: 5, failures: 0, poison: false, hanging: false };
const LATE_MS_MIN = 1_000;
const LATE_MS_MAX = 7_200_000;
/** Duration of a slow handler, in leases. */
const SLOW_LEASES = 2.5;

export function drawWorkload(
  seed: number,
  options: {
    readonly topology: Topology;
    readonly spanMs: number;
    readonly skipped: ReadonlySet<string>;
  },
): WorkloadItem[] {
  const { topology, spanMs, skipped } = options;
  const dice = createNamedDice(seed, "workload");
  const items: WorkloadItem[] = [];
  for (let at = 1; at <= topology.events; at += 1) {
    const name = `e${at}`;
    if (skipped.has(name)) continue; // W1
    const burst = dice.whole(`${name} burst`, 1, topology.bursts);
    const startMs = burstAtMs(dice, burst, { topology, spanMs });
    items.push({
      name,
      atMs: Math.floor(startMs + dice.fraction(`${name} at`) * topology.burstMs),
      producer: dice.whole(`${name} producer`, 1, topology.producers),
      group: `g${dice.whole(`${name} group`, 1, topology.groups)}`,
      change: dice.roll(`${name} removed`, 0.1) ? "removed" : "put",
      lateMs: drawLateMs(dice, name, topology),
      plan: drawPlan(dice, name, topology),
    });
  }
  return items.sort((one, two) => one.atMs - two.atMs);
}

/** When a burst of records starts, counted from the start of the world (W1). */
function burstAtMs(
  dice: NamedDice,
  burst: number,
  { topology, spanMs }: { readonly topology: Topology; readonly spanMs: number },
): number {
  return dice.fraction(`burst ${burst}`) * Math.max(0, spanMs - topology.burstMs);
}

/** An instant within one of the bursts, for faults that have no effect on an idle world. */
export function busyAtMs(
  seed: number,
  name: string,
  { topology, spanMs }: { readonly topology: Topology; readonly spanMs: number },
): number {
  const dice = createNamedDice(seed, "workload");
  const burst = dice.whole(`${name} burst`, 1, topology.bursts);
  const withinMs = dice.fraction(`${name} within`) * topology.burstMs;
  return Math.floor(burstAtMs(dice, burst, { topology, spanMs }) + withinMs);
}

function drawLateMs(dice: NamedDice, name: string, { lateEvents }: Topology): number {
  if (!dice.roll(`${name} late`, lateEvents)) return 0;
  return dice.scaled(`${name} late ms`, LATE_MS_MIN, LATE_MS_MAX);
}

function drawPlan(dice: NamedDice, name: string, topology: Topology): HandlerPlan {
  const slow = dice.roll(`${name} slow`, topology.slow);
  const refused = dice.roll(`${name} refused`, topology.refused);
  const ordinaryMs = dice.fraction(`${name} ms`) * topology.handlerMsMax;
  return {
    durationMs: Math.floor(slow ? topology.visibilityMs * SLOW_LEASES : ordinaryMs),
    failures: drawFailures(dice, name, topology),
    poison: dice.roll(`${name} poison`, topology.poison),
    hanging: dice.roll(`${name} hanging`, topology.hanging),
    refused,
    masked: !refused && dice.roll(`${name} masked`, topology.masked ?? 0),
  };
}

function drawFailures(dice: NamedDice, name: string, { flaky, hopeless }: Topology): number {
  if (dice.roll(`${name} hopeless`, hopeless)) return HOPELESS;
  return dice.roll(`${name} flaky`, flaky) ? dice.whole(`${name} fails`, 1, 3) : 0;
}

export const SLOW_PROBE = "probe-slow";

/** A quick probe and one that outlives its lease, each in its own message group (W2). */
export function probesOf(topology: Topology, atMs: number): WorkloadItem[] {
  const common = { atMs, producer: 1, change: "put", lateMs: 0 } as const;
  const slow = { ...QUICK, durationMs: Math.floor(topology.visibilityMs * SLOW_LEASES) };
  return [
    { ...common, name: "probe-quick", group: "probe-1", plan: QUICK },
    { ...common, name: SLOW_PROBE, group: "probe-2", plan: slow },
  ];
}

/** Total duration of all handlers, failed attempts included. */
export function workMsOf(items: readonly WorkloadItem[], attempts: number): number {
  const runs = ({ plan }: WorkloadItem) => 1 + Math.min(plan.failures, attempts);
  return items.reduce((sum, item) => sum + item.plan.durationMs * runs(item), 0);
}
