// Swarm: derives a world from a seed. The seed draws the topology and the mix of faults as well as
// their instants. Many seeds then cover cases that one fixed mix would not reach: a fault that is
// always on hides problems that need its absence.
//   The names of draws are part of a seed's world: a renamed draw changes the world of every seed.

import { SQS_RETENTION_MS_DEFAULT } from "../core/limits.ts";
import { CALL_FAULTS, type CallFaultKind, type CallRates } from "./faults/call-faults.ts";
import {
  type FaultMix,
  NO_FAULTS,
  TIMELINE_FAULTS,
  type TimelineFaultKind,
} from "./faults/fault-mix.ts";
import { createNamedDice, type NamedDice } from "./faults/named-random.ts";
import { drawTables } from "./tables/tables-topology.ts";
import type { Topology } from "./topology.ts";

export interface SwarmDraw {
  readonly topology: Topology;
  readonly mix: FaultMix;
}

export function drawSwarm(seed: number): SwarmDraw {
  const dice = createNamedDice(seed, "swarm");
  const topology = withArchive(dice, withDraws(dice, withTables(dice, drawTopology(dice))));
  return { topology, mix: dice.roll("calm", 0.03) ? NO_FAULTS : drawMix(dice) };
}

/** About how many handlers of a world outlive their lease, or hang. */
const SLOW_MAX = 8;
/** About how many records of a world fail at every attempt, until they are parked. */
const HOPELESS_MAX = 12;

function drawTopology(dice: NamedDice): Topology {
  const contents = dice.pick("carries", ["messages", "messages", "objects"] as const);
  const fifo = contents === "messages" && dice.roll("fifo", 0.45);
  const sink = dice.pick("sink", ["transactional", "transactional", "idempotent"] as const);
  const events = dice.scaled("events", 60, 1_200);
  const onPoison = dice.pick("on poison", ["halt", "skip"] as const);
  // A halted group would wait for a payload that is never allowed.
  const governed = contents === "messages" && !(fifo && onPoison === "halt");
  return {
    contents,
    own: contents === "messages" && dice.roll("own messages", 0.3),
    fifo,
    sink,
    objectsSink: contents === "messages" && sink === "idempotent" && dice.roll("objects sink", 0.5),
    batches:
      contents === "messages" && dice.roll("batches", 0.25)
        ? dice.whole("how many batches", 4, 40)
        : 0,
    groups: dice.scaled("groups", 1, 24),
    producers: dice.whole("producers", 1, 3),
    forgetful: dice.roll("forgetful", 0.3),
    consumers: dice.whole("consumers", 1, 4),
    concurrency: dice.pick("concurrency", [1, 3, 10, 30]),
    visibilityMs: dice.pick("visibility", [3_000, 10_000, 30_000, 60_000]),
    attempts: dice.whole("attempts", 2, 8),
    retryBaseMs: dice.scaled("retry base", 50, 2_000),
    retryCapMs: dice.scaled("retry cap", 2_000, 120_000),
    lease: dice.pick("lease", ["auto", "auto", "ledger", "receipt"] as const),
    onPoison,
    onMissing: dice.pick("on missing", ["dead-letter", "drop", "retry"] as const),
    // If SQS moves a message, later ones of its FIFO group overtake it, and fifo-order would fail.
    maxReceiveCount: fifo ? 1_000 : dice.pick("receives", [10, 30, 1_000]),
    retentionMs: drawRetentionMs(dice),
    leaseRenewer: dice.pick("keeper", ["loop", "thread"] as const),
    ledgerTime: dice.pick("ledger time", ["asked", "done"] as const),
    versioned: dice.roll("versioned", 0.5),
    recordsMax: dice.roll("several records", 0.4) ? dice.whole("records", 2, 5) : 1,
    latencyMsMax: dice.scaled("latency", 2, 200),
    slowMsMax: dice.scaled("slow", 500, 240_000),
    commitMsMax: dice.roll("slow commits", 0.3) ? dice.scaled("commit", 1, 500) : 0,
    outOfOrderMs: dice.scaled("lateness", 1_000, 600_000),
    late: dice.pick("late", ["process", "process", "hold", "queue"] as const),
    allowedLatenessMs: dice.scaled("allowed lateness", 1, 120_000),
    lateEvents: dice.roll("late events", 0.6) ? 0.15 : 0,
    events,
    bursts: dice.whole("bursts", 1, 8),
    burstMs: dice.scaled("burst", 50, 120_000),
    handlerMsMax: dice.scaled("handler", 1, 2_000),
    poison: dice.roll("poison", 0.5) ? 0.05 : 0,
    flaky: dice.roll("flaky", 0.5) ? 0.15 : 0,
    hopeless: dice.roll("hopeless", 0.4) ? Math.min(0.03, HOPELESS_MAX / events) : 0,
    slow: dice.roll("slow", 0.5) ? Math.min(0.03, SLOW_MAX / events) : 0,
    hanging: dice.roll("hanging", 0.2) ? Math.min(0.01, SLOW_MAX / events) : 0,
    timeoutMs: dice.scaled("timeout", 200_000, 600_000),
    refused: governed && dice.roll("govern rule", 0.2) ? 0.1 : 0,
  };
}

/** Files of some of the worlds with objects fill tables; fewer records, because rows cost time. */
function withTables(dice: NamedDice, topology: Topology): Topology {
  const { contents, sink, onMissing } = topology;
  if (contents !== "objects" || sink !== "transactional") return topology;
  if (!dice.roll("tables", TABLES_PROBABILITY)) return topology;
  return {
    ...topology,
    events: dice.scaled("table events", 30, 150),
    groups: dice.whole("table objects", 1, 6),
    versioned: true,
    onMissing: onMissing === "drop" ? "dead-letter" : onMissing,
    tables: drawTables(dice),
  };
}

/** Envelopes have an event time; only sources of other contents have a function for it. */
function withDraws(dice: NamedDice, topology: Topology): Topology {
  if (!dice.roll("handlers draw", 0.4)) return topology;
  const { contents, own, late, tables } = topology;
  const hasFunction = own || contents === "objects";
  // Not with late policies, so that the worlds of recorded seeds stay as they are.
  const can = hasFunction && (late === "process" || tables !== undefined);
  const unsteadyTimes = can && dice.roll("unsteady event times", 0.5);
  return { ...topology, draws: true, unsteadyTimes };
}

/** Pipelines of some of the worlds with messages archive them, and have some of them masked. */
function withArchive(dice: NamedDice, topology: Topology): Topology {
  if (topology.contents !== "messages" || !dice.roll(ARCHIVE_DRAW, ARCHIVE_PROBABILITY)) {
    return topology;
  }
  const masked = dice.roll("masks", 0.6) ? 0.2 : 0;
  const masksTimes = masked > 0 && dice.roll("masked times", 0.5);
  return { ...topology, archive: true, masked, masksTimes };
}

const ARCHIVE_DRAW = "message archive";
/** Of the worlds with messages. */
const ARCHIVE_PROBABILITY = 0.1;
/** Of the worlds with objects and a transactional sink. */
const TABLES_PROBABILITY = 0.4;

/** Longer than any probe takes, shorter than outages, halted groups and long retries. */
const SHORT_RETENTION_MS_MIN = 600_000;
const SHORT_RETENTION_MS_MAX = 1_800_000;

/** Most worlds retain everything, because messages that may expire hide messages that are lost. */
function drawRetentionMs(dice: NamedDice): number {
  if (!dice.roll("short retention", 0.15)) return SQS_RETENTION_MS_DEFAULT;
  const ms = dice.scaled("retention", SHORT_RETENTION_MS_MIN, SHORT_RETENTION_MS_MAX);
  return Math.floor(ms / 1_000) * 1_000; // SQS counts it in whole seconds.
}

/** Maximum probability of each kind, per call. */
const RATES_MAX: CallRates = {
  refused: 0.05,
  "answer-lost": 0.05,
  "crash-before": 0.01,
  "crash-after": 0.01,
  "slow-request": 0.02,
  "slow-answer": 0.02,
  partial: 0.04,
  duplicate: 0.05,
};

/** Maximum number of each kind per run. */
const TIMELINE_MAX: Readonly<Record<TimelineFaultKind, number>> = {
  kill: 10,
  freeze: 10,
  "producer-freeze": 6,
  "loop-stall": 10,
  skew: 6,
  "ledger-down": 3,
  "queue-down": 3,
  "sink-down": 3,
  "broker-restart": 4,
  drain: 4,
  redrive: 3,
  "native-redrive": 2,
  "ledger-purge": 6,
  "late-release": 4,
  "queue-purge": 1,
  "object-overwritten": 12,
  "object-deleted": 6,
  "failed-sync": 3,
  "clock-leap": 5,
  pause: 4,
};

/** Maximum probability per call; a world has some thousands of calls. */
const FROZEN_HOLDERS_MAX = 0.02;

const TIMELINE_PROBABILITY = 0.4;
/** A queue purge excuses the loss of messages, so most worlds have none. */
const RARE: Readonly<Partial<Record<TimelineFaultKind, number>>> = {
  "queue-purge": 0.08,
  "failed-sync": 0.2,
  pause: 0.2,
};

function drawMix(dice: NamedDice): FaultMix {
  const rates = CALL_FAULTS.map((kind): [CallFaultKind, number] => {
    const on = dice.roll(`rate ${kind}`, 0.45);
    return [kind, on ? RATES_MAX[kind] * dice.fraction(`how much ${kind}`) : 0];
  });
  const timeline = TIMELINE_FAULTS.map((kind): [TimelineFaultKind, number] => {
    const probability = RARE[kind] ?? TIMELINE_PROBABILITY;
    const on = dice.roll(`timeline ${kind}`, probability);
    return [kind, on ? dice.whole(`how often ${kind}`, 1, TIMELINE_MAX[kind]) : 0];
  });
  return {
    rates: Object.fromEntries(rates) as Record<CallFaultKind, number>,
    timeline: Object.fromEntries(timeline) as Record<TimelineFaultKind, number>,
    frozenHolders: dice.roll("frozen holders", 0.3)
      ? FROZEN_HOLDERS_MAX * dice.fraction("how much frozen holders")
      : 0,
  };
}
