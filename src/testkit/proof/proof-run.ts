// Proof run: what one run of a proof goes through: its points, what is done at them, and what it
// was seen to do.
//   R1. A dead process does nothing any more, and what it had not sent was never sent.
//   R2. What the handler asks for is told in the order in which the world saw it.

import { durationMs } from "../../core/units.ts";
import type { OutsideRequest } from "../../platform/handler-watch.ts";
import type { SimProcess } from "../../sim/hosts/process.ts";
import type {
  Injection,
  InjectionKind,
  Point,
  PointKind,
  ProofSchedule,
} from "./proof-schedule.ts";

/** A request that went out. */
export interface OutsideCall extends OutsideRequest {
  /** Name of the record it was made for. */
  readonly record: string;
  /** Idempotency key of that record. */
  readonly key: string;
}

export interface ProofEvent {
  readonly actor: string;
  readonly record: string;
  readonly what: string;
  /** Points of a kind that follow one another are told as one. */
  readonly fold: PointKind | null;
  readonly disturbance?: true;
}

/** The error that a handler hears where a schedule says so. */
export class InjectedFailure extends Error {
  override readonly name = "Disturbed";
}

/** One call of the handler. */
export interface Invocation {
  readonly process: SimProcess;
  readonly record: string;
  readonly key: string;
  /** How many things of the world it waits for at the moment. */
  waiting: number;
}

export interface RunWorld {
  /** Makes the message that the process has in hand visible to others. */
  redeliver(invocation: Invocation): void;
  /** Lets the process stand still for longer than its lease. */
  stall(process: SimProcess): void;
}

const OVERLAP_MS = durationMs(2_000);

export class ProofRun {
  readonly points: Point[] = [];
  readonly calls: OutsideCall[] = [];
  readonly told: ProofEvent[] = [];
  /** Disturbances that came about. */
  readonly struck: Injection[] = [];
  readonly #schedule: ReadonlyMap<number, InjectionKind>;
  readonly #active = new Set<Invocation>();
  #world: RunWorld | null = null;

  constructor(schedule: ProofSchedule) {
    this.#schedule = new Map(schedule.map(({ point, how }) => [point, how]));
  }

  enter(world: RunWorld): void {
    this.#world = world;
  }

  begin(invocation: Invocation): void {
    this.#active.add(invocation);
  }

  end(invocation: Invocation): void {
    this.#active.delete(invocation);
  }

  /** Whether a handler is at something that is not of this world, such as unpacking bytes. */
  get busy(): boolean {
    for (const { process, waiting } of this.#active) {
      if (process.alive && !process.frozen && waiting === 0) return true;
    }
    return false;
  }

  /** Whether a handler of a living process has not come to its end. */
  get running(): boolean {
    return [...this.#active].some(({ process }) => process.alive);
  }

  tell(actor: string, record: string, what: string, fold: PointKind | null = null): void {
    this.told.push({ actor, record, what, fold });
  }

  /** A point that cannot wait. */
  pass(invocation: Invocation, kind: PointKind, what: string): void {
    if (!invocation.process.alive) return; // R1
    const how = this.#come(kind, what);
    this.#tellPoint(invocation, kind, what);
    if (how === "fails" || how === "answer-lost") this.#fail(invocation, what);
    else if (how === "crash-before" || how === "crash-after") {
      this.#crash(invocation, `as it ${what}`);
    }
  }

  /** A point at which something is done; `work` is not told of in dead processes. */
  async at<T>(
    invocation: Invocation,
    kind: PointKind,
    what: string,
    work: () => Promise<T>,
  ): Promise<T> {
    const { process } = invocation;
    if (!process.alive) return never(); // R1
    const how = this.#come(kind, what);
    if (how === "crash-before") {
      this.#crash(invocation, `before it ${what}`);
      return never();
    }
    if (how === "fails") this.#fail(invocation, what);
    if (how === "duplicate" || how === "stall") await this.#wait(invocation, how, what);
    if (!process.alive) return never();
    this.#tellPoint(invocation, kind, what);
    const result = await work();
    if (how === "crash-after") {
      this.#crash(invocation, `after it ${what}, before it hears of it`);
      return never();
    }
    if (how === "answer-lost") this.#fail(invocation, `${what}, whose answer is lost`);
    return process.alive ? result : never();
  }

  async waitFor<T>(invocation: Invocation, work: () => Promise<T>): Promise<T> {
    invocation.waiting += 1;
    try {
      return await work();
    } finally {
      invocation.waiting -= 1;
    }
  }

  #come(kind: PointKind, what: string): InjectionKind | null {
    const number = this.points.length + 1;
    this.points.push({ number, kind, what });
    const how = this.#schedule.get(number) ?? null;
    if (how !== null) this.struck.push({ point: number, how });
    return how;
  }

  #tellPoint({ process, record }: Invocation, kind: PointKind, what: string): void {
    const fold = kind === "row" || kind === "effect" ? kind : null;
    if (kind !== "commit" && kind !== "ack" && kind !== "end") {
      this.tell(process.name, record, what, fold); // R2
    }
  }

  #disturb({ process, record }: Invocation, what: string): void {
    this.told.push({ actor: process.name, record, what, fold: null, disturbance: true });
  }

  #crash(invocation: Invocation, where: string): void {
    this.#disturb(invocation, `dies ${where}`);
    invocation.process.crash(1);
  }

  #fail(invocation: Invocation, what: string): never {
    this.#disturb(invocation, `hears an error as it ${what}`);
    throw new InjectedFailure("the world fails here, as the schedule says");
  }

  async #wait(invocation: Invocation, how: "duplicate" | "stall", what: string): Promise<void> {
    const { process } = invocation;
    if (how === "duplicate") {
      this.#disturb(invocation, `is overtaken: as it ${what}, the message is delivered again`);
      this.#world?.redeliver(invocation);
    } else {
      this.#disturb(invocation, `stands still as it ${what}, for longer than its lease`);
      this.#world?.stall(process);
    }
    await this.waitFor(invocation, () => process.clock.sleep(OVERLAP_MS));
  }
}

/** Whoever is dead waits for ever. */
function never(): Promise<never> {
  return new Promise(() => {});
}
