// Batch interleavings: like outbox-interleavings.dynamodb.test.ts, for batches instead of rows.
//   Y1. A call on several items is one call on each of them, so calls here have a single item.
//   Y2. X2 and X3 of interleavings.dynamodb.test.ts apply.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { present } from "../../src/core/assert.ts";
import { days, type EpochMs, hours, msBetween, subtractMs } from "../../src/core/units.ts";
import type { JobBatch } from "../../src/ports/batches.ts";
import type { Outbox } from "../../src/ports/outbox.ts";
import { createDynamoOutbox } from "../../src/stores/dynamodb/outbox.ts";
import { createMemoryOutbox } from "../../src/stores/memory/outbox.ts";
import { sampleOf } from "../support/full-size.ts";
import { createManualClock, FAR_AHEAD } from "../support/manual-clock.ts";
import { useDynamo } from "../support/stores/database-servers.ts";
import { random } from "../support/stores/real-ports.ts";
import {
  findRuns,
  openSides,
  type Sides,
  TROUBLES,
  type Trouble,
  unlawfulOf,
} from "../support/stores/two-sides.ts";

const SIDES = 8;
const NOW = FAR_AHEAD;
const BEFORE = subtractMs(NOW, hours(1));
const LONG_BEFORE = subtractMs(NOW, days(50));
const NAME = "2026-02-28";
const ITEMS = [{ name: "a", key: "key of a" }];

type Move = (outbox: Outbox, target: string) => Promise<unknown>;

/** Ids contain the target, which differs between the store and its model. */
const idOf = (target: string, id: string) => `${target} ${id}`;
const withoutTarget = (batch: JobBatch | undefined, target: string) =>
  batch && { ...batch, id: batch.id.slice(target.length) };

const open =
  (id: string, digest = "x", replace = false): Move =>
  async (outbox, target) => {
    const input = { name: NAME, id: idOf(target, id), itemCount: 1, digest, replace };
    const { kind, batch } = await outbox.openBatch(target, input);
    return { kind, batch: withoutTarget(batch, target) };
  };
const add: Move = (outbox, target) => outbox.addBatchItems(idOf(target, "1"), ITEMS);
const done: Move = (outbox, target) => outbox.markItemsDone(idOf(target, "1"), ITEMS);
const seal: Move = async (outbox, target) =>
  withoutTarget(await outbox.sealBatch(target, NAME, idOf(target, "1")), target);
const complete: Move = async (outbox, target) =>
  withoutTarget(await outbox.completeBatch(target, NAME, idOf(target, "1")), target);
const list: Move = (outbox, target) =>
  outbox.openBatchItems(idOf(target, "1"), { after: null, limit: 10 });

const MOVES: Readonly<Record<string, Move>> = {
  open: open("1"),
  "open by another": open("2"),
  "open other items": open("2", "y"),
  replace: open("2", "y", true),
  add,
  done,
  seal,
  complete,
  list,
};
/** Both of its writes matter: done, then no longer added. */
const WRITE_TWICE: ReadonlySet<string> = new Set(["done"]);

const RUNS: Readonly<Record<string, readonly Move[]>> = {
  ...Object.fromEntries(Object.entries(MOVES).map(([name, move]) => [name, [move]])),
  "add, then done": [add, done],
  "done, then add": [done, add],
  "done, then complete": [done, complete],
  "open, then seal": [open("1"), seal],
};

interface Start {
  readonly at: EpochMs;
  readonly moves: readonly Move[];
}

/** `npm test` plays every fourth start, CI plays all of them. */
const ALL_STARTS = process.env.TIDEGATE_STARTS === "all";

const STARTS: Readonly<Record<string, Start>> = {
  nothing: { at: BEFORE, moves: [] },
  "a batch without items": { at: BEFORE, moves: [open("1")] },
  "a batch that is not sealed": { at: BEFORE, moves: [open("1"), add] },
  "a sealed batch": { at: BEFORE, moves: [open("1"), add, seal] },
  "a sealed batch whose item is done": { at: BEFORE, moves: [open("1"), add, seal, done] },
  "a complete batch": { at: BEFORE, moves: [open("1"), add, seal, done, complete] },
  "an expired batch": { at: LONG_BEFORE, moves: [open("1"), add, seal] },
};

interface Case {
  readonly name: string;
  readonly ours: Move;
  readonly theirs: readonly Move[];
  readonly trouble: Trouble;
}

const { available, endpoint, freshOptions } = await useDynamo();
const options = freshOptions();
let sides: Sides<Outbox>;
let others: Outbox;
let targets = 0;

const openOutbox = (now: EpochMs, through = endpoint) =>
  createDynamoOutbox({ clock: createManualClock(now), random }, { ...options, endpoint: through });

/** The batch and its items. */
async function look(outbox: Outbox, target: string): Promise<unknown[]> {
  const batch = await outbox.findBatch(target, NAME);
  const doneCount = await outbox.countDoneItems(idOf(target, "1"));
  return [withoutTarget(batch, target), await list(outbox, target), doneCount];
}

/** The outcome by the transitions, with our move, if any, at that position among theirs. */
async function inOrder(
  start: Start,
  theirs: readonly Move[],
  ours: { readonly move: Move; readonly position: number } | null,
) {
  const clock = createManualClock(start.at);
  const outbox = createMemoryOutbox({ clock });
  for (const move of start.moves) await move(outbox, "law");
  clock.advance(msBetween(start.at, NOW));
  let answer: unknown;
  const answers: unknown[] = [];
  for (let position = 0; position <= theirs.length; position += 1) {
    if (position === ours?.position) answer = await ours.move(outbox, "law");
    const move = theirs[position];
    if (move !== undefined) answers.push(await move(outbox, "law"));
  }
  return { ours: answer, theirs: answers, remaining: await look(outbox, "law") };
}

async function playAll(start: Start, all: readonly Case[]) {
  const before = await openOutbox(start.at);
  const cases = all.map((one) => {
    targets += 1;
    return { ...one, target: `t${targets}` };
  });
  await Promise.all(
    cases.map(async ({ target }) => {
      for (const move of start.moves) await move(before, target);
    }),
  );
  await before.close();
  const played = await sides.playAll(
    cases.map(({ ours, theirs, trouble, target }) => ({
      ours: (outbox) => ours(outbox, target),
      theirs: theirs.map((move) => () => move(others, target)),
      trouble,
    })),
  );
  return await Promise.all(
    cases.map(async (one, at) => {
      const { answers, requests } = present(played[at], "a case that was played");
      const remaining = await look(others, one.target);
      return { ...one, requests, outcome: { ...answers, remaining } };
    }),
  );
}

async function findUnlawful(start: Start, all: readonly Case[]): Promise<unknown[]> {
  return unlawfulOf(await playAll(start, all), (theirs, ours) => inOrder(start, theirs, ours));
}

describe.skipIf(!available)("DynamoDB", () => {
  beforeAll(async () => {
    others = await openOutbox(NOW);
    sides = await openSides(endpoint, SIDES, (through) => openOutbox(NOW, through));
  });

  afterAll(async () => {
    await sides?.[Symbol.asyncDispose]();
    await others?.close();
  });

  describe.each(sampleOf(4, Object.entries(STARTS), ALL_STARTS))("from %s", (_, start) => {
    const moves: { readonly name: string; readonly ours: Move; readonly requests: number }[] = [];

    function atEach(trouble: (request: number) => Trouble): Case[] {
      return moves.flatMap(({ name, ours, requests }) =>
        Array.from({ length: requests }, (_, at) => {
          return { name: `${name}, request ${at}`, ours, theirs: [], trouble: trouble(at) };
        }),
      );
    }

    /** Without the last request of a call, unless several of its requests write (Y2). */
    function untilLast(trouble: (request: number) => Trouble): Case[] {
      const lasts = moves.filter(({ name }) => !WRITE_TWICE.has(name));
      const names = new Set(lasts.map(({ name, requests }) => `${name}, request ${requests - 1}`));
      return atEach(trouble).filter(({ name }) => !names.has(name));
    }

    beforeAll(async () => {
      const all = Object.entries(MOVES).map(([name, ours]) => {
        return { name, ours, theirs: [], trouble: () => {} };
      });
      for (const { name, ours, requests, outcome } of await playAll(start, all)) {
        moves.push({ name, ours, requests });
        expect(outcome).toEqual(await inOrder(start, [], { move: ours, position: 0 }));
      }
    });

    test("a call whose replies are lost is done once", async () => {
      expect(await findUnlawful(start, atEach(TROUBLES.lost))).toEqual([]);
    });

    test("two concurrent sides have the outcome of some sequential order", async () => {
      const leftBy = async (some: readonly Move[]) => (await inOrder(start, some, null)).remaining;
      const runs = await findRuns(RUNS, leftBy);
      const cases = untilLast(TROUBLES.between).flatMap((one) =>
        runs.map((run) => ({ ...one, name: `${one.name}: ${run.name}`, theirs: run.moves })),
      );
      expect(await findUnlawful(start, cases)).toEqual([]);
    });
  });
});
