// Proof run: one run of a proof: the points it reaches, the faults injected there, and the steps of
// its story.
//   R1. A crashed process does nothing any more, and what it had not sent is never sent.
//   R2. Steps are recorded in the order in which the world saw them.

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

/** A request that the handler or its sink sent. */
export interface OutsideCall extends OutsideRequest {
  /** Name of the record it was made for. */
  readonly record: string;
  /** Idempotency key of that record. */
  readonly key: string;
}

export interface ProofStep {
  readonly actor: string;
  readonly record: string;
  readonly what: string;
  /** Consecutive points of these kinds become one step of the story. */
  readonly fold: PointKind | null;
  /** The step is an injected fault. */
  readonly fault?: true;
}

/** The error that a handler gets where the schedule injects a failure. */
export class InjectedFailure extends Error {
  override readonly name = "InjectedFailure";
}

/** One call of the handler. */
export interface Invocation {
  readonly process: SimProcess;
  readonly record: string;
  readonly key: string;
  /** How many simulated operations it is waiting for. */
  waiting: number;
}

export interface RunWorld {
  /** Makes the message in flight at the process visible to other consumers. */
  redeliver(invocation: Invocation): void;
  /** Stalls the process for longer than its lease. */
  stall(process: SimProcess): void;
}

const OVERLAP_MS = durationMs(2_000);

export class ProofRun {
  readonly points: Point[] = [];
  readonly calls: OutsideCall[] = [];
  readonly steps: ProofStep[] = [];
  /** Faults of the schedule that were injected. */
  readonly injected: Injection[] = [];
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

  /** Whether a handler waits for real work outside the simulation, such as decompression. */
  get busy(): boolean {
    for (const { process, waiting } of this.#active) {
      if (process.alive && !process.frozen && waiting === 0) return true;
    }
    return false;
  }

  /** Whether a handler of a running process has not ended yet. */
  get running(): boolean {
    return [...this.#active].some(({ process }) => process.alive);
  }

  addStep(actor: string, record: string, what: string, fold: PointKind | null = null): void {
    this.steps.push({ actor, record, what, fold });
  }

  /** A synchronous point: it cannot stall or be overtaken. */
  pass(invocation: Invocation, kind: PointKind, what: string): void {
    if (!invocation.process.alive) return; // R1
    const how = this.#reach(kind, what);
    this.#addPointStep(invocation, kind, what);
    if (how === "fails" || how === "answer-lost") {
      this.#fail(invocation, `gets an error when it ${what}`);
    } else if (how === "crash-before" || how === "crash-after") {
      this.#crash(invocation, `while it ${what}`);
    }
  }

  /** A point that runs `work`; a crashed process never gets the result. */
  async at<T>(
    invocation: Invocation,
    kind: PointKind,
    what: string,
    work: () => Promise<T>,
  ): Promise<T> {
    const { process } = invocation;
    if (!process.alive) return never(); // R1
    const how = this.#reach(kind, what);
    if (how === "crash-before") {
      this.#crash(invocation, `before it ${what}`);
      return never();
    }
    if (how === "fails") this.#fail(invocation, `gets an error when it ${what}`);
    if (how === "duplicate" || how === "stall") await this.#wait(invocation, how, what);
    if (!process.alive) return never();
    this.#addPointStep(invocation, kind, what);
    const result = await work();
    if (how === "crash-after") {
      this.#crash(invocation, `after it ${what}, before it gets the response`);
      return never();
    }
    if (how === "answer-lost") {
      this.#fail(invocation, `gets an error after it ${what}: the response is lost`);
    }
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

  #reach(kind: PointKind, what: string): InjectionKind | null {
    const number = this.points.length + 1;
    this.points.push({ number, kind, what });
    const how = this.#schedule.get(number) ?? null;
    if (how !== null) this.injected.push({ point: number, how });
    return how;
  }

  #addPointStep({ process, record }: Invocation, kind: PointKind, what: string): void {
    const fold = kind === "row" || kind === "effect" ? kind : null;
    if (kind !== "commit" && kind !== "ack" && kind !== "end") {
      this.addStep(process.name, record, what, fold); // R2
    }
  }

  #addFault({ process, record }: Invocation, what: string): void {
    this.steps.push({ actor: process.name, record, what, fold: null, fault: true });
  }

  #crash(invocation: Invocation, where: string): void {
    this.#addFault(invocation, `crashes ${where}`);
    invocation.process.crash(1);
  }

  #fail(invocation: Invocation, what: string): never {
    this.#addFault(invocation, what);
    throw new InjectedFailure("injected failure");
  }

  async #wait(invocation: Invocation, how: "duplicate" | "stall", what: string): Promise<void> {
    const { process } = invocation;
    if (how === "duplicate") {
      this.#addFault(invocation, `is interrupted before it ${what}: the message is redelivered`);
      this.#world?.redeliver(invocation);
    } else {
      this.#addFault(invocation, `stalls before it ${what}, for longer than its lease`);
      this.#world?.stall(process);
    }
    await this.waitFor(invocation, () => process.clock.sleep(OVERLAP_MS));
  }
}

/** What a crashed process awaits never resolves. */
function never(): Promise<never> {
  return new Promise(() => {});
}
