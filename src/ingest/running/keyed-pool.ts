// Keyed pool: decides which record runs next. Records of one group do not run together.
//   N1. At most `total` records run at once, and at most `perGroup` of one group.
//   N2. Within a group, records start in the order of their arrival.
//   N3. Groups take turns: a long group does not delay the others.
//   N4. A group that halts skips all records that wait in it at that moment, in order. Later
//       records start a new group.

export interface PoolWork {
  /** Runs the record; "halt" skips the records behind it in the group. Never rejects. */
  run(): Promise<"next" | "halt">;
  /** Called instead of `run` when the group halted. */
  skip(): void;
}

interface Group {
  readonly name: string;
  readonly waiting: PoolWork[];
  running: number;
  /** Whether it waits in line for a slot. */
  queued: boolean;
}

export interface KeyedPool {
  add(group: string, work: PoolWork): void;
  readonly running: number;
  readonly waiting: number;
  /** Skips every record that has not begun. */
  skipWaiting(): void;
}

export interface KeyedPoolOptions {
  readonly total: number;
  readonly perGroup: number;
  /** Called whenever a slot was freed. */
  readonly onFree: () => void;
}

export function createKeyedPool(options: KeyedPoolOptions): KeyedPool {
  return new SlotGroups(options);
}

class SlotGroups implements KeyedPool {
  readonly #options: KeyedPoolOptions;
  readonly #groups = new Map<string, Group>();
  /** Groups that could start a record, in turn (N3). */
  readonly #line: Group[] = [];
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
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { name, waiting: [], running: 0, queued: false };
      this.#groups.set(name, group);
    }
    group.waiting.push(work);
    this.#waiting += 1;
    this.#enqueue(group);
    this.#pump();
  }

  skipWaiting(): void {
    for (const group of [...this.#groups.values()]) {
      this.#skipAll(group);
      if (group.running === 0) this.#groups.delete(group.name);
    }
    this.#options.onFree();
  }

  #enqueue(group: Group): void {
    const full = group.running >= this.#options.perGroup;
    if (group.queued || group.waiting.length === 0 || full) return;
    group.queued = true;
    this.#line.push(group);
  }

  #pump(): void {
    while (this.#running < this.#options.total) {
      const group = this.#line.shift();
      if (group === undefined) return;
      group.queued = false;
      const work = group.waiting.shift(); // N2
      if (work === undefined) continue;
      this.#waiting -= 1;
      this.#running += 1;
      group.running += 1; // N1
      this.#enqueue(group);
      void this.#run(group, work);
    }
  }

  async #run(group: Group, work: PoolWork): Promise<void> {
    const then = await work.run();
    this.#running -= 1;
    group.running -= 1;
    if (then === "halt") this.#skipAll(group);
    if (group.running === 0 && group.waiting.length === 0) this.#groups.delete(group.name);
    else this.#enqueue(group);
    this.#pump();
    this.#options.onFree();
  }

  #skipAll(group: Group): void {
    const skipped = group.waiting.splice(0);
    this.#waiting -= skipped.length;
    for (const work of skipped) work.skip(); // N4
  }
}
