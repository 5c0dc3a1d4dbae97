// Call faults: which port calls fail, and how. Each fault is drawn by name (named-random.ts): it
// has its own id and can be removed without shifting the others.
//   F1. A call is a crash point twice: before its effect, and after it with the response lost.
//   F2. Faults fire until the world turns quiet, and never after.
//   F3. Fired faults are stored with their ids, for stories and for shrinking.

import { fractionOf, hashText, mixWords } from "./named-random.ts";

export const CALL_FAULTS = [
  "refused",
  "answer-lost",
  "crash-before",
  "crash-after",
  "slow-request",
  "slow-answer",
  "partial",
  "duplicate",
] as const;

export type CallFaultKind = (typeof CALL_FAULTS)[number];

/** How stories describe each kind. */
const DESCRIPTIONS: Readonly<Record<CallFaultKind, string>> = {
  refused: "the call is rejected",
  "answer-lost": "the call succeeds, but its response is lost",
  "crash-before": "the process crashes before the call",
  "crash-after": "the process crashes after the call, before the response",
  "slow-request": "the request is delayed",
  "slow-answer": "the response is delayed",
  partial: "part of the batch fails",
  duplicate: "the message is duplicated",
};

/** Probability of each kind, per call. */
export type CallRates = Readonly<Record<CallFaultKind, number>>;

export interface CallFault {
  readonly id: string;
  readonly kind: CallFaultKind;
  /** Random bits for further decisions about this fault. */
  readonly word: number;
}

export interface FiredFault {
  readonly id: string;
  readonly what: string;
  readonly at: number;
}

export interface Faults {
  /** Where one process calls one method of one port. */
  point(actor: string, method: string): FaultPoint;
  /** Returns whether the fault `id` fires, and records it if it does (F3). */
  fires(id: string, what: string): boolean;
  readonly fired: readonly FiredFault[];
}

export interface FaultPoint {
  readonly label: number;
  readonly name: string;
  /** Draws the fault of the next call; null if the call succeeds. */
  draw(): CallFault | null;
  /** Random bits of the call that was drawn last, for its latency. */
  readonly word: number;
}

export interface FaultsOptions {
  readonly seed: number;
  readonly rates: CallRates;
  /** Faults that always fire, by id: `consumer-1/ledger.commit#2`. */
  readonly planned: ReadonlyMap<string, CallFaultKind>;
  /** Ids of the only faults that may fire; null allows all. */
  readonly only: ReadonlySet<string> | null;
  readonly clock: { readonly now: number };
  readonly quietAt: () => number;
  readonly onFired: (fault: FiredFault) => void;
}

export function createFaults(options: FaultsOptions): Faults {
  const { seed, rates, planned, only, clock, quietAt, onFired } = options;
  const base = mixWords(hashText("faults", seed | 0), Math.floor(seed / 0x1_0000_0000));
  const points = new Map<string, FaultPoint>();
  const fired: FiredFault[] = [];

  function fire(id: string, what: string): boolean {
    if (clock.now >= quietAt() || only?.has(id) === false) return false; // F2
    const fault = { id, what, at: clock.now };
    fired.push(fault); // F3
    onFired(fault);
    return true;
  }

  return {
    fired,
    fires: fire,
    point(actor, method) {
      const name = `${actor}/${method}`;
      let point = points.get(name);
      if (point === undefined) {
        point = new CallFaultPoint(name, { base, rates, planned, fire });
        points.set(name, point);
      }
      return point;
    },
  };
}

class CallFaultPoint implements FaultPoint {
  readonly label: number;
  readonly name: string;
  word = 0;
  readonly #own: number;
  readonly #total: number;
  readonly #options: FaultPointOptions;
  #calls = 0;

  constructor(name: string, options: FaultPointOptions) {
    this.name = name;
    this.label = hashText(name);
    this.#own = mixWords(options.base, this.label);
    this.#total = CALL_FAULTS.reduce((sum, kind) => sum + options.rates[kind], 0);
    this.#options = options;
  }

  draw(): CallFault | null {
    const { planned, rates, fire } = this.#options;
    this.#calls += 1;
    this.word = mixWords(this.#own, this.#calls);
    const fraction = fractionOf(this.word);
    if (fraction >= this.#total && planned.size === 0) return null;
    const id = `${this.name}#${this.#calls}`;
    const kind = planned.get(id) ?? kindAt(rates, fraction);
    if (kind === null || !fire(id, DESCRIPTIONS[kind])) return null;
    return { id, kind, word: mixWords(this.word, 1) };
  }
}

interface FaultPointOptions {
  readonly base: number;
  readonly rates: CallRates;
  readonly planned: ReadonlyMap<string, CallFaultKind>;
  readonly fire: (id: string, what: string) => boolean;
}

function kindAt(rates: CallRates, fraction: number): CallFaultKind | null {
  let remaining = fraction;
  for (const kind of CALL_FAULTS) {
    remaining -= rates[kind];
    if (remaining < 0) return kind;
  }
  return null;
}
