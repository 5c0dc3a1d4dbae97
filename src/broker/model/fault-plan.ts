// FaultPlan: the injected faults of a broker, and the random streams that decide when they fire.
//   L1. Each fault has its own random stream, forked by the name of its target. The same seed and
//       the same requests in the same order inject the same faults, whatever happens elsewhere.
//   L2. A plan lives as long as the process; it is never stored.
//   L3. Without faults, the rest of the broker only reads `active`.
//   L4. No fault breaks the order or the single delivery of a FIFO queue: callers do not ask for
//       these two kinds on its behalf.

import { createSeededRandom, type SeededRandom } from "../../core/seeded-random.ts";
import { type DurationMs, durationMs } from "../../core/units.ts";
import type { FaultService, MessageFaults } from "./message-faults.ts";

export type { FaultService } from "./message-faults.ts";

export type FaultKind =
  | "duplicate"
  | "reorder"
  | "delay"
  | "drop-acknowledgement"
  | "unavailable"
  | "throttle";

/** Kinds that hit a request, in the order in which they are tried. */
const REQUEST_FAULT_KINDS = ["unavailable", "throttle", "drop-acknowledgement"] as const;
export type RequestFaultKind = (typeof REQUEST_FAULT_KINDS)[number];

/** A request that faults may hit. */
export interface FaultTargetRequest {
  readonly service: FaultService;
  readonly name: string;
  /** AWS's names of the action; several if the operation does not say which of them it is. */
  readonly actions: readonly string[];
}

/** A name, or "*" for all of its kind. */
export type FaultTarget =
  | { readonly queue: string }
  | { readonly topic: string }
  | { readonly bucket: string };

/** One fault to inject. The same seed fires at the same requests or messages of each target. */
export interface FaultSpec {
  readonly kind: FaultKind;
  readonly target: FaultTarget;
  /** From 0 (never) to 1 (always). */
  readonly probability: number;
  /** Default: 1. */
  readonly seed?: number | undefined;
  /** How much later a message becomes visible. Required for "delay", invalid otherwise. */
  readonly delayMs?: number | undefined;
  /** AWS's names of the actions it hits. Default: all. Only for faults that hit requests. */
  readonly actions?: readonly string[] | undefined;
  /** The most often it fires. Default: no limit. */
  readonly count?: number | undefined;
}

export interface FaultView extends FaultSpec {
  readonly seed: number;
  /** How often it has fired. */
  readonly fired: number;
}

const SEED_DEFAULT = 1;
/** Callers choose the names, so all names beyond this many share one stream. */
const STREAMS_MAX = 10_000;
const EVERY = "*";

interface ActiveFault {
  readonly spec: FaultSpec;
  readonly service: FaultService;
  readonly name: string;
  readonly random: SeededRandom;
  readonly streams: Map<string, SeededRandom>;
  fired: number;
}

export function targetOf(target: FaultTarget): { service: FaultService; name: string } {
  if ("queue" in target) return { service: "queue", name: target.queue };
  if ("topic" in target) return { service: "topic", name: target.topic };
  return { service: "bucket", name: target.bucket };
}

export class FaultPlan implements MessageFaults {
  readonly #faults = new Map<string, ActiveFault>();
  /** Whether there is any fault (L3). */
  active = false;

  get size(): number {
    return this.#faults.size;
  }

  /** Adds a fault. It replaces one of the same kind, target and actions, and starts from 0. */
  put(spec: FaultSpec): void {
    const { service, name } = targetOf(spec.target);
    const seed = spec.seed ?? SEED_DEFAULT;
    const random = createSeededRandom(seed).fork(spec.kind).fork(service);
    const fault = { spec: { ...spec, seed }, service, name, random, streams: new Map(), fired: 0 };
    this.#faults.set(keyOf(spec), fault);
    this.active = true;
  }

  clear(): void {
    this.#faults.clear();
    this.active = false;
  }

  view(): FaultView[] {
    return [...this.#faults.values()].map(({ spec, fired }) => ({
      ...spec,
      seed: spec.seed ?? SEED_DEFAULT,
      fired,
    }));
  }

  extraDelayMs(service: FaultService, name: string): DurationMs {
    return durationMs(this.fires("delay", service, name)?.delayMs ?? 0);
  }

  duplicates(service: FaultService, name: string): boolean {
    return this.fires("duplicate", service, name) !== null;
  }

  reorders(queue: string): boolean {
    return this.fires("reorder", "queue", queue) !== null;
  }

  /** The fault that hits a request, or null. At most one does. */
  requestFault({ service, name, actions }: FaultTargetRequest): RequestFaultKind | null {
    for (const kind of REQUEST_FAULT_KINDS) {
      if (this.fires(kind, service, name, actions) !== null) return kind;
    }
    return null;
  }

  /** Draws for every matching fault. The first one that fires is returned and counted. */
  fires(
    kind: FaultKind,
    service: FaultService,
    name: string,
    actions: readonly string[] = [],
  ): FaultSpec | null {
    let fired: FaultSpec | null = null;
    for (const fault of this.#faults.values()) {
      if (fault.spec.kind !== kind || !matches(fault, service, name, actions)) continue;
      if (fault.fired >= (fault.spec.count ?? Number.POSITIVE_INFINITY)) continue;
      // Every fault draws, even after another has fired: no stream depends on another (L1).
      const fires = streamFor(fault, name).fraction() < fault.spec.probability;
      if (!fires || fired !== null) continue;
      fault.fired += 1;
      fired = fault.spec;
    }
    return fired;
  }
}

function keyOf({ kind, target, actions }: FaultSpec): string {
  const { service, name } = targetOf(target);
  return JSON.stringify([kind, service, name, [...(actions ?? [])].sort()]);
}

function matches(
  { spec, service, name }: ActiveFault,
  wantedService: FaultService,
  wantedName: string,
  actions: readonly string[],
): boolean {
  if (service !== wantedService || (name !== EVERY && name !== wantedName)) return false;
  return spec.actions === undefined || spec.actions.some((action) => actions.includes(action));
}

function streamFor({ random, streams }: ActiveFault, name: string): SeededRandom {
  const key = streams.has(name) || streams.size < STREAMS_MAX ? name : EVERY;
  let stream = streams.get(key);
  if (stream === undefined) {
    stream = random.fork(key);
    streams.set(key, stream);
  }
  return stream;
}
