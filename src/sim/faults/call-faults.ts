// Call faults: which port calls fail, and how. Each is drawn by name (named-random.ts): it has its
// own id and can be removed without shifting the others.
//   F1. A call is a crash point twice: before its effect, and after it with the answer lost.
//   F2. Faults strike until the world turns quiet, and never after.
//   F3. What struck is kept, with its id, for stories and for shrinking.

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

/** How likely each kind is, per call. */
export type CallRates = Readonly<Record<CallFaultKind, number>>;

export interface CallFault {
  readonly id: string;
  readonly kind: CallFaultKind;
  /** For whatever else is to be decided about it. */
  readonly word: number;
}

export interface FiredFault {
  readonly id: string;
  readonly what: string;
  readonly at: number;
}

export interface Faults {
  /** The faults of one method of one port, as one process calls it. */
  site(actor: string, method: string): FaultPoint;
  /** Whether the fault of that name is to strike; if so it has (F3). */
  strikes(id: string, what: string): boolean;
  readonly fired: readonly FiredFault[];
}

export interface FaultPoint {
  readonly label: number;
  readonly name: string;
  /** What happens to the next call, if anything. */
  draw(): CallFault | null;
  /** A word for the call that was drawn for last, for its latency. */
  readonly word: number;
}

export interface FaultsOptions {
  readonly seed: number;
  readonly rates: CallRates;
  /** Faults that strike for certain, by their ids: `consumer-1/ledger.commit#2`. */
  readonly planned: ReadonlyMap<string, CallFaultKind>;
  /** The only ones that may strike; null lets all. */
  readonly only: ReadonlySet<string> | null;
  readonly clock: { readonly now: number };
  readonly quietAt: () => number;
  readonly onFired: (fault: FiredFault) => void;
}

export function createFaults(options: FaultsOptions): Faults {
  const { seed, rates, planned, only, clock, quietAt, onFired } = options;
  const base = mixWords(hashText("faults", seed | 0), Math.floor(seed / 0x1_0000_0000));
  const sites = new Map<string, FaultPoint>();
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
    strikes: fire,
    site(actor, method) {
      const name = `${actor}/${method}`;
      let site = sites.get(name);
      if (site === undefined) {
        site = new CallSite(name, { base, rates, planned, fire });
        sites.set(name, site);
      }
      return site;
    },
  };
}

class CallSite implements FaultPoint {
  readonly label: number;
  readonly name: string;
  word = 0;
  readonly #own: number;
  readonly #total: number;
  readonly #options: SiteOptions;
  #calls = 0;

  constructor(name: string, options: SiteOptions) {
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
    if (kind === null || !fire(id, kind)) return null;
    return { id, kind, word: mixWords(this.word, 1) };
  }
}

interface SiteOptions {
  readonly base: number;
  readonly rates: CallRates;
  readonly planned: ReadonlyMap<string, CallFaultKind>;
  readonly fire: (id: string, what: string) => boolean;
}

function kindAt(rates: CallRates, fraction: number): CallFaultKind | null {
  let left = fraction;
  for (const kind of CALL_FAULTS) {
    left -= rates[kind];
    if (left < 0) return kind;
  }
  return null;
}
