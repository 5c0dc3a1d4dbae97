// Lanes: which record runs next. A pool of slots that refills as they free up; a lane holds what
// must not run together.
//   N1. At most `total` records run at once, and at most `perLane` of one lane.
//   N2. Within a lane records start in the order they came.
//   N3. Lanes take turns: a long lane does not keep the others waiting.
//   N4. A lane that halts skips all that waits in it at that moment, in order, and is new again.

export interface LaneWork {
  /** Runs the record; "halt" stops what waits behind it in the lane. Never rejects. */
  run(): Promise<"next" | "halt">;
  /** Told instead of `run` when the lane halted. */
  skip(): void;
}

interface Lane {
  readonly name: string;
  readonly waiting: LaneWork[];
  running: number;
  /** Whether it stands in line for a slot. */
  queued: boolean;
}

export interface Lanes {
  add(lane: string, work: LaneWork): void;
  readonly running: number;
  readonly waiting: number;
  /** Takes out all that has not begun and skips it. */
  skipWaiting(): void;
}

export function createLanes(options: {
  readonly total: number;
  readonly perLane: number;
  /** Called whenever a slot was freed. */
  readonly onFree: () => void;
}): Lanes {
  const { total, perLane, onFree } = options;
  const lanes = new Map<string, Lane>();
  const line: Lane[] = [];
  let running = 0;
  let waiting = 0;

  function enqueue(lane: Lane): void {
    if (lane.queued || lane.waiting.length === 0 || lane.running >= perLane) return;
    lane.queued = true;
    line.push(lane); // N3
  }

  function pump(): void {
    while (running < total) {
      const lane = line.shift();
      if (lane === undefined) return;
      lane.queued = false;
      const work = lane.waiting.shift(); // N2
      if (work === undefined) continue;
      waiting -= 1;
      running += 1;
      lane.running += 1; // N1
      enqueue(lane);
      void finish(lane, work);
    }
  }

  async function finish(lane: Lane, work: LaneWork): Promise<void> {
    const then = await work.run();
    running -= 1;
    lane.running -= 1;
    if (then === "halt") skipAll(lane);
    if (lane.running === 0 && lane.waiting.length === 0) lanes.delete(lane.name);
    else enqueue(lane);
    pump();
    onFree();
  }

  function skipAll(lane: Lane): void {
    const skipped = lane.waiting.splice(0);
    waiting -= skipped.length;
    for (const work of skipped) work.skip(); // N4
  }

  return {
    add(name, work) {
      let lane = lanes.get(name);
      if (lane === undefined) {
        lane = { name, waiting: [], running: 0, queued: false };
        lanes.set(name, lane);
      }
      lane.waiting.push(work);
      waiting += 1;
      enqueue(lane);
      pump();
    },
    get running() {
      return running;
    },
    get waiting() {
      return waiting;
    },
    skipWaiting() {
      for (const lane of [...lanes.values()]) {
        skipAll(lane);
        if (lane.running === 0) lanes.delete(lane.name);
      }
      onFree();
    },
  };
}
