import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../test/support/manual-clock.ts";
import { ANY_INPUT } from "../../test/support/stores/any-input.ts";
import { sequencerAfter, sequencerOrder } from "../core/events/sequencer.ts";
import { days, epochMs, seconds } from "../core/units.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { ObjectRef } from "../ports/record.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { fromAppliedText, toAppliedText } from "./object-order.ts";
import { asRecordKey } from "./record-state.ts";

const SCOPE = { pipeline: "p", generation: 0 };
const OBJECT = { bucket: "in", key: "o" };

/** The bucket's history of one key: write n has sequencer n and a state. */
interface Bucket {
  readonly versioned: boolean;
  /** The bytes of each write. */
  readonly writes: readonly string[];
}

type Step =
  /** One more write is in the bucket. */
  | { readonly kind: "write" }
  /** The next step of a worker, which starts with an event, or with the current state listed. */
  | { readonly kind: "event"; readonly write: number; readonly worker: number }
  | { readonly kind: "list"; readonly worker: number }
  /** The same with a version that may be past, in a bucket that keeps them. */
  | { readonly kind: "past"; readonly write: number; readonly worker: number }
  | { readonly kind: "direct"; readonly write: number }
  | { readonly kind: "go"; readonly worker: number };

interface Worker {
  readonly key: string;
  readonly ref: ObjectRef;
  fence?: number;
  basis?: string;
  /** The write that was current when the bucket was asked. */
  current?: number;
  /** The write of a listed version, whose order is known. */
  readonly listed?: number;
  isNewer?: boolean;
}

const anyStep = (writes: number): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("write" as const) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("event" as const),
        write: fc.nat(writes - 1),
        worker: fc.nat(2),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("list" as const), worker: fc.nat(2) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("past" as const),
        write: fc.nat(writes - 1),
        worker: fc.nat(2),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant("direct" as const), write: fc.nat(writes - 1) }),
    },
    { weight: 8, arbitrary: fc.record({ kind: fc.constant("go" as const), worker: fc.nat(2) }) },
  );

class World {
  readonly #bucket: Bucket;
  readonly #clock = createManualClock(epochMs(Date.UTC(2030, 0, 1)));
  readonly #ledger: Ledger = createMemoryLedger({ clock: this.#clock });
  readonly #workers = new Map<number, Worker>();
  /** Writes that are in the bucket. */
  #put = 1;
  /** Each application: the write, by whom, and which sequencer the sink was given. */
  readonly applied: { readonly write: number; readonly listed: boolean }[] = [];

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  get #current(): number {
    return this.#put - 1;
  }

  stateOf(write: number): string {
    return this.#bucket.versioned ? `v:${write}` : `e:1:${this.#bucket.writes[write]}`;
  }

  async step(step: Step): Promise<void> {
    this.#clock.advance(seconds(60)); // Every lease of a worker that is not finished is over.
    switch (step.kind) {
      case "write":
        if (this.#put < this.#bucket.writes.length) this.#put += 1;
        return;
      case "event":
        if (step.write < this.#put && !this.#workers.has(step.worker)) {
          this.#workers.set(step.worker, this.#event(step.write));
        }
        return;
      case "list":
        if (!this.#workers.has(step.worker)) this.#workers.set(step.worker, this.#listed());
        return;
      case "past":
        if (this.#bucket.versioned && step.write < this.#put && !this.#workers.has(step.worker)) {
          this.#workers.set(step.worker, this.#listed(step.write));
        }
        return;
      case "direct":
        if (step.write < this.#put) await this.#direct(this.#event(step.write), step.write);
        return;
      case "go":
        await this.#go(step.worker);
        return;
    }
  }

  #event(write: number): Worker {
    const sequencer = `0${write + 1}`;
    return { key: `event ${write}`, ref: { ...OBJECT, sequencer, state: this.stateOf(write) } };
  }

  #listed(past?: number): Worker {
    const state = this.stateOf(past ?? this.#current);
    // All writes of one second: without versions, their listings share a key.
    const key = this.#bucket.versioned ? `listed ${state}` : "listed";
    const ref = { ...OBJECT, sequencer: null, state, listed: true } as const;
    return { key, ref, ...(past !== undefined && { listed: past }) };
  }

  /** As stages/confirm.ts decides for a listed version: by the row that its claim saw. */
  async #isNewer(write: number, basis: string): Promise<boolean> {
    const row = await this.#ledger.showObject(SCOPE, OBJECT.bucket, OBJECT.key);
    if ((row?.sequencer ?? "") !== basis) return false;
    return row === undefined || write > Number(row.applied?.state.slice("v:".length));
  }

  async #direct({ key, ref }: Worker, write: number): Promise<void> {
    const now = this.#clock.now();
    const [result] = await this.#ledger.commitDirect(SCOPE, [
      {
        key: asRecordKey(key),
        owner: "direct",
        receivedAt: now,
        startedAt: now,
        input: ANY_INPUT,
        digest: "d",
        object: ref,
      },
    ]);
    if (result?.kind === "committed") this.applied.push({ write, listed: false });
  }

  /** Claim, ask the bucket, commit: one of them per step. */
  async #go(name: number): Promise<void> {
    const worker = this.#workers.get(name);
    if (worker === undefined) return;
    const { ref } = worker;
    const key = asRecordKey(worker.key);
    if (worker.fence === undefined) {
      const request = { key, receivedAt: this.#clock.now(), input: ANY_INPUT, object: ref };
      const lease = { owner: `worker ${name}`, leaseMs: seconds(30) };
      const [claim] = await this.#ledger.claim(SCOPE, [request], lease);
      if (claim?.kind !== "claimed") this.#workers.delete(name);
      else {
        worker.fence = claim.fence;
        if (claim.confirm !== undefined) worker.basis = claim.confirm;
      }
      return;
    }
    if (worker.basis !== undefined && worker.current === undefined) {
      worker.current = this.#current;
      if (worker.listed !== undefined) {
        worker.isNewer = await this.#isNewer(worker.listed, worker.basis);
      }
      return;
    }
    await this.#commit(worker);
    this.#workers.delete(name);
  }

  async #commit(worker: Worker): Promise<void> {
    const { key, ref, fence, basis, current, isNewer } = worker;
    const isCurrent = isNewer ?? (current !== undefined && this.stateOf(current) === ref.state);
    const object = basis === undefined ? ref : { ...ref, confirmed: { basis, isCurrent } };
    const what = { key: asRecordKey(key), fence: fence as never, digest: "d", object };
    const [result] = await this.#ledger.commit(SCOPE, [what]);
    if (result?.kind !== "committed") return;
    const listed = ref.listed === true;
    const own = Number.parseInt(ref.sequencer ?? "0", 10) - 1;
    this.applied.push({ write: worker.listed ?? current ?? own, listed });
  }

  /** A backfill with nothing else in progress. */
  async settle(): Promise<void> {
    this.#workers.clear();
    this.#workers.set(9, this.#listed());
    while (this.#workers.has(9)) {
      this.#clock.advance(seconds(60));
      await this.#go(9);
    }
  }

  get last(): string {
    return this.stateOf(this.#current);
  }
}

const anyBucket = (): fc.Arbitrary<Bucket> =>
  fc.record({
    versioned: fc.boolean(),
    writes: fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 5 }),
  });
const anyRun = () =>
  anyBucket().chain((bucket) =>
    fc.tuple(
      fc.constant(bucket),
      fc.array(anyStep(bucket.writes.length), { minLength: 4, maxLength: 40 }),
    ),
  );
const RUNS = 1_500;

describe("a listing and events of one object, in any order and at once", () => {
  test("no write is applied by both, none twice, and none after a newer one", async () => {
    await fc.assert(
      fc.asyncProperty(anyRun(), async ([bucket, steps]) => {
        const world = new World(bucket);
        for (const step of steps) await world.step(step);
        const writes = world.applied.map(({ write }) => write);
        expect(writes).toEqual([...new Set(writes)].toSorted((a, b) => a - b));
      }),
      { numRuns: RUNS },
    );
  });

  test("a last backfill leaves the bucket's state applied, whatever was lost before", async () => {
    await fc.assert(
      fc.asyncProperty(anyRun(), async ([bucket, steps]) => {
        const world = new World(bucket);
        for (const step of steps) await world.step(step);
        await world.settle();
        const last = world.applied.at(-1);
        expect(last === undefined ? null : world.stateOf(last.write)).toBe(world.last);
      }),
      { numRuns: RUNS },
    );
  });
});

test("the place of a listed write is after the applied one and before every later one", () => {
  const hex = fc.stringMatching(/^[0-9A-F]{1,20}$/).map(sequencerOrder);
  fc.assert(
    fc.property(hex, hex, fc.integer({ min: 1, max: 300 }), (one, two, listings) => {
      let last = one;
      for (let nth = 0; nth < listings; nth += 1) {
        const next = sequencerAfter(last);
        expect(next > last).toBe(true);
        expect(sequencerOrder(next)).toBe(next);
        last = next;
      }
      if (two > one) expect(last < two).toBe(true);
      expect(last.length).toBeLessThan(64);
    }),
  );
});

test("stores save an applied state as one text", () => {
  const common = { sequencer: "01", appliedKey: asRecordKey("k"), expiresAt: epochMs(days(1)) };
  for (const applied of [
    { state: "v:1", listed: true },
    { state: "e:1:a", listed: false },
  ]) {
    expect(fromAppliedText(toAppliedText({ ...common, applied }))).toEqual({ applied });
  }
  expect(fromAppliedText(toAppliedText(common))).toEqual({});
});
