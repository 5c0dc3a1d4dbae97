// Lanes: which record runs next. A pool of slots that refills as they free up; a lane holds what
// must not run together.
//   N1. At most `total` records run at once, and at most `perGroup` of one lane.
//   N2. Within a lane records start in the order they came.
//   N3. Lanes take turns: a long lane does not keep the others waiting.
//   N4. A lane that halts skips all that waits in it at that moment, in order, and is new again.

export interface PoolWork {
  /** Runs the record; "halt" stops what waits behind it in the lane. Never rejects. */
  run(): Promise<"next" | "halt">;
  /** Told instead of `run` when the lane halted. */
  skip(): void;
}

interface Lane {
  readonly name: string;
  readonly waiting: PoolWork[];
  running: number;
  /** Whether it stands in line for a slot. */
  queued: boolean;
}

export interface KeyedPool {
  add(lane: string, work: PoolWork): void;
  readonly running: number;
  readonly waiting: number;
  /** Takes out all that has not begun and skips it. */
  skipWaiting(): void;
}

export interface KeyedPoolOptions {
  readonly total: number;
  readonly perGroup: number;
  /** Called whenever a slot was freed. */
  readonly onFree: () => void;
}

export function createKeyedPool(options: KeyedPoolOptions): KeyedPool {
  return new SlotLanes(options);
}

class SlotLanes implements KeyedPool {
  readonly #options: KeyedPoolOptions;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes that could start something, in turn (N3). */
  readonly #line: Lane[] = [];
  #running = 0;
  #waiting = 0;

  constructor(options: KeyedPoolOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  add(name: string, work: PoolWork): void {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { name, waiting: [], running: 0, queued: false };
      this.#lanes.set(name, lane);
    }
    lane.waiting.push(work);
    this.#waiting += 1;
    this.#enqueue(lane);
    this.#pump();
  }

  skipWaiting(): void {
    for (const lane of [...this.#lanes.values()]) {
      this.#skipAll(lane);
      if (lane.running === 0) this.#lanes.delete(lane.name);
    }
    this.#options.onFree();
  }

  #enqueue(lane: Lane): void {
    const full = lane.running >= this.#options.perGroup;
    if (lane.queued || lane.waiting.length === 0 || full) return;
    lane.queued = true;
    this.#line.push(lane);
  }

  #pump(): void {
    while (this.#running < this.#options.total) {
      const lane = this.#line.shift();
      if (lane === undefined) return;
      lane.queued = false;
      const work = lane.waiting.shift(); // N2
      if (work === undefined) continue;
      this.#waiting -= 1;
      this.#running += 1;
      lane.running += 1; // N1
      this.#enqueue(lane);
      void this.#run(lane, work);
    }
  }

  async #run(lane: Lane, work: PoolWork): Promise<void> {
    const then = await work.run();
    this.#running -= 1;
    lane.running -= 1;
    if (then === "halt") this.#skipAll(lane);
    if (lane.running === 0 && lane.waiting.length === 0) this.#lanes.delete(lane.name);
    else this.#enqueue(lane);
    this.#pump();
    this.#options.onFree();
  }

  #skipAll(lane: Lane): void {
    const skipped = lane.waiting.splice(0);
    this.#waiting -= skipped.length;
    for (const work of skipped) work.skip(); // N4
  }
}
