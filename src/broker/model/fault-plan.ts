// FaultPlan: the faults that somebody asked for, and the dice they are thrown with.
//   L1. Each fault throws its own dice, forked by the name of what it hits: the same seed and the
//       same requests in the same order give the same faults, whatever happens elsewhere.
//   L2. A plan lives as long as the process: nothing of it is stored.
//   L3. Without faults, all that the rest of the broker pays is a look at `active`.
//   L4. Order and single delivery are promises of FIFO queues that no fault breaks: those who ask
//       for dice on their behalf do not ask for these two kinds.

import { createSeededRandom, type SeededRandom } from "../../core/seeded-random.ts";

export type FaultKind =
  | "duplicate"
  | "reorder"
  | "delay"
  | "drop-acknowledgement"
  | "unavailable"
  | "throttle";

/** Kinds that hit a request rather than a message. */
export type RequestFaultKind = "drop-acknowledgement" | "unavailable" | "throttle";

export type FaultService = "queue" | "topic" | "bucket";

/** A name, or "*" for all of its kind. */
export type FaultTarget =
  | { readonly queue: string }
  | { readonly topic: string }
  | { readonly bucket: string };

export interface FaultSpec {
  readonly kind: FaultKind;
  readonly target: FaultTarget;
  /** From 0, never, to 1, always. */
  readonly probability: number;
  /** 1 unless given. */
  readonly seed?: number | undefined;
  /** How much later a message becomes visible; only with "delay", and there it must be. */
  readonly delayMs?: number | undefined;
  /** AWS's names of the actions it hits, if not all; only with faults that hit requests. */
  readonly actions?: readonly string[] | undefined;
  /** It strikes this often at the most. */
  readonly count?: number | undefined;
}

export interface FaultView extends FaultSpec {
  readonly seed: number;
  /** How often it has struck. */
  readonly fired: number;
}

const SEED_FALLBACK = 1;
/** Beyond this many names, the rest share one stream: names are the callers' to invent. */
const STREAMS_MAX = 10_000;
const EVERY = "*";

interface ActiveFault {
  readonly spec: FaultSpec;
  readonly service: FaultService;
  readonly name: string;
  readonly dice: SeededRandom;
  readonly streams: Map<string, SeededRandom>;
  fired: number;
}

/** What a fault is aimed at. */
export function targetOf(target: FaultTarget): { service: FaultService; name: string } {
  if ("queue" in target) return { service: "queue", name: target.queue };
  if ("topic" in target) return { service: "topic", name: target.topic };
  return { service: "bucket", name: target.bucket };
}

export class FaultPlan {
  readonly #faults = new Map<string, ActiveFault>();
  /** Whether there is any fault (L3). */
  active = false;

  get size(): number {
    return this.#faults.size;
  }

  /** Adds a fault; one of the same kind, target and actions makes way for it and starts anew. */
  put(spec: FaultSpec): void {
    const { service, name } = targetOf(spec.target);
    const seed = spec.seed ?? SEED_FALLBACK;
    const dice = createSeededRandom(seed).fork(spec.kind).fork(service);
    const fault = { spec: { ...spec, seed }, service, name, dice, streams: new Map(), fired: 0 };
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
      seed: spec.seed ?? SEED_FALLBACK,
      fired,
    }));
  }

  /** Throws the dice of every such fault; the first that strikes is the one that happens. */
  fires(
    kind: FaultKind,
    service: FaultService,
    name: string,
    actions: readonly string[] = [],
  ): FaultSpec | null {
    let struck: FaultSpec | null = null;
    for (const fault of this.#faults.values()) {
      if (fault.spec.kind !== kind || !hits(fault, service, name, actions)) continue;
      if (fault.fired >= (fault.spec.count ?? Number.POSITIVE_INFINITY)) continue;
      // Thrown even where another one has struck: no fault's dice depend on another's (L1).
      const falls = streamFor(fault, name).fraction() < fault.spec.probability;
      if (!falls || struck !== null) continue;
      fault.fired += 1;
      struck = fault.spec;
    }
    return struck;
  }
}

function keyOf({ kind, target, actions }: FaultSpec): string {
  const { service, name } = targetOf(target);
  return JSON.stringify([kind, service, name, [...(actions ?? [])].sort()]);
}

function hits(
  { spec, service, name }: ActiveFault,
  wantedService: FaultService,
  wantedName: string,
  actions: readonly string[],
): boolean {
  if (service !== wantedService || (name !== EVERY && name !== wantedName)) return false;
  return spec.actions === undefined || spec.actions.some((action) => actions.includes(action));
}

function streamFor({ dice, streams }: ActiveFault, name: string): SeededRandom {
  const key = streams.has(name) || streams.size < STREAMS_MAX ? name : EVERY;
  let stream = streams.get(key);
  if (stream === undefined) {
    stream = dice.fork(key);
    streams.set(key, stream);
  }
  return stream;
}
