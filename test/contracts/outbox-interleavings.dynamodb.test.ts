// Outbox interleavings: like interleavings.dynamodb.test.ts, for rows instead of records.
//   Y1. A call on several rows is one call on each of them (O1 of the port), so calls here have a
//       single row. A take is the exception: it has rows of one group, which must be taken
//       together, whereas unordered rows may be split between two takers.
//   Y2. X2 and X3 of the other file apply, except that a take writes more than once: one row per
//       request.
//   Y3. Each side draws seqs from its own counter (D2 of the outbox), so seqs are not compared; the
//       rows in the two lists of a target are.

import { DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { present } from "../../src/core/assert.ts";
import type { EpochMs } from "../../src/core/units.ts";
import { days, hours, msBetween, seconds, subtractMs } from "../../src/core/units.ts";
import type { Outbox, OutboxRow } from "../../src/ports/outbox.ts";
import { createDynamoOutbox } from "../../src/stores/dynamodb/outbox.ts";
import { fromItem } from "../../src/stores/dynamodb/outbox-items.ts";
import { createMemoryOutbox } from "../../src/stores/memory/outbox.ts";
import { sampleOf } from "../support/full-size.ts";
import { createManualClock, FAR_AHEAD } from "../support/manual-clock.ts";
import { useDynamo } from "../support/stores/database-servers.ts";
import { random } from "../support/stores/real-ports.ts";
import {
  findRuns,
  openSides,
  type Sides,
  type StoreAnswer,
  TROUBLES,
  type Trouble,
  unlawfulOf,
} from "../support/stores/two-sides.ts";

const SIDES = 8;
const NOW = FAR_AHEAD;
const BEFORE = subtractMs(NOW, hours(1));
const LONG_BEFORE = subtractMs(NOW, days(50));
const KEYS = ["a", "b", "c"];

type Move = (outbox: Outbox, target: string, owner: string) => Promise<unknown>;

const lease = (owner: string, leaseMs = seconds(30)) => ({ owner, leaseMs });
const entry = (key: string, payloadDigest = "p") => ({
  key,
  groupId: "g",
  dedupId: key,
  payloadDigest,
  body: payloadDigest,
  attributes: {},
});
const withoutSeq = (row: OutboxRow) => ({ ...row, seq: 0 }); // Y3

function register(keys: readonly string[], digest?: string, leaseMs = seconds(30)): Move {
  return async (outbox, target, owner) => {
    const entries = keys.map((key) => entry(key, digest));
    const results = await outbox.register(target, entries, lease(owner, leaseMs));
    return results.map((one) =>
      one.kind === "taken" ? { ...one, row: withoutSeq(one.row) } : one,
    );
  };
}
const take =
  (limit: number): Move =>
  async (outbox, target, owner) =>
    (await outbox.take(target, limit, lease(owner))).map(withoutSeq);
const sent =
  (key: string, epoch = 0): Move =>
  (outbox, target) =>
    outbox.markSent(target, [{ key, epoch, messageId: "m" }]);
const refused =
  (key: string): Move =>
  (outbox, target) =>
    outbox.markRefused(target, [{ key, epoch: 0, reason: "r" }]);
const republish: Move = async (outbox, target, owner) => {
  const result = await outbox.republish(target, "a", 0, lease(owner));
  return result.kind === "taken" ? { ...result, row: withoutSeq(result.row) } : result;
};
const settle: Move = (outbox, target) => outbox.markDone(target, ["a"]);
const unsettled: Move = async (outbox, target) =>
  (await outbox.sentNotDone(target, { sentBefore: NOW, afterSeq: 0, limit: 10 })).map(withoutSeq);

const MOVES: Readonly<Record<string, Move>> = {
  register: register(["a"]),
  "register the second": register(["b"]),
  "register another": register(["c"]),
  "register another payload": register(["a"], "q"),
  take: take(10),
  "take one": take(1),
  sent: sent("a"),
  "second sent": sent("b"),
  refused: refused("a"),
  republish,
  settle,
  unsettled,
};

const TAKES: ReadonlySet<string> = new Set(["take", "take one"]);

const RUNS: Readonly<Record<string, readonly Move[]>> = {
  ...Object.fromEntries(Object.entries(MOVES).map(([name, move]) => [name, [move]])),
  "take, then sent": [take(10), sent("a")],
  "sent, then republish": [sent("a"), republish],
  "refused, then register": [refused("a"), register(["a"])],
};

interface Start {
  readonly at: EpochMs;
  readonly moves: readonly Move[];
}

/** `npm test` plays every fourth start, CI plays all of them. */
const ALL_STARTS = process.env.TIDEGATE_STARTS === "all";

const STARTS: Readonly<Record<string, Start>> = {
  nothing: { at: BEFORE, moves: [] },
  "rows that another sends": { at: BEFORE, moves: [register(["a", "b"], "p", hours(2))] },
  "rows without a live lease": { at: BEFORE, moves: [register(["a", "b"])] },
  "a refused row": { at: BEFORE, moves: [register(["a", "b"]), refused("a")] },
  "a sent row": { at: BEFORE, moves: [register(["a", "b"]), sent("a")] },
  "a sent row that is forgotten": { at: LONG_BEFORE, moves: [register(["a"]), sent("a")] },
  "a settled row": { at: BEFORE, moves: [register(["a", "b"]), sent("a"), settle] },
};

interface Outcome extends StoreAnswer {
  readonly remaining: readonly unknown[];
}

interface Case {
  readonly name: string;
  readonly ours: Move;
  readonly theirs: readonly Move[];
  readonly trouble: Trouble;
}

const { available, endpoint, freshOptions } = await useDynamo();
const options = freshOptions();
const client = new DynamoDBClient(options);
let sides: Sides<Outbox>;
let others: Outbox;
let targets = 0;

const openOutbox = (now: EpochMs, through = endpoint) =>
  createDynamoOutbox({ clock: createManualClock(now), random }, { ...options, endpoint: through });

/** The items of a partition of the target. */
async function itemsOf(list: "row" | "pending" | "unsettled", target: string) {
  const query = new QueryCommand({
    TableName: options.table,
    ConsistentRead: true,
    KeyConditionExpression: "pk = :pk",
    ExpressionAttributeValues: { ":pk": { S: `${list}#${target}` } },
  });
  return (await client.send(query)).Items ?? [];
}

/** The rows of a target and the keys in its two lists, as stored. */
async function look(target: string): Promise<unknown[]> {
  const [rows, ...lists] = await Promise.all([
    itemsOf("row", target),
    ...[itemsOf("pending", target), itemsOf("unsettled", target)],
  ]);
  return [
    rows.map((item) => withoutSeq(present(fromItem(item).row, "a row"))),
    ...lists.map((list) => list.map(({ key }) => key?.S).sort()),
  ];
}

/** The same, as they should be. */
async function lookInMemory(outbox: Outbox): Promise<unknown[]> {
  const existing = await Promise.all(KEYS.map((key) => outbox.find("law", key)));
  const rows = existing.filter((row) => row !== undefined);
  const keys = (some: readonly OutboxRow[]) => some.map(({ key }) => key);
  return [
    rows.map(withoutSeq),
    keys(rows.filter(({ state }) => state === "pending")),
    keys(rows.filter(({ state, done: settled }) => state === "sent" && !settled)),
  ];
}

/** The outcome by the transitions, with our move, if any, at that position among theirs. */
async function inOrder(
  start: Start,
  theirs: readonly Move[],
  ours: { readonly move: Move; readonly position: number } | null,
): Promise<Outcome> {
  const clock = createManualClock(start.at);
  const outbox = createMemoryOutbox({ clock });
  for (const move of start.moves) await move(outbox, "law", "before");
  clock.advance(msBetween(start.at, NOW));
  let answer: unknown;
  const answers: unknown[] = [];
  for (let position = 0; position <= theirs.length; position += 1) {
    if (position === ours?.position) answer = await ours.move(outbox, "law", "we");
    const move = theirs[position];
    if (move !== undefined) answers.push(await move(outbox, "law", "they"));
  }
  return { ours: answer, theirs: answers, remaining: await lookInMemory(outbox) };
}

async function playAll(start: Start, all: readonly Case[]) {
  const before = await openOutbox(start.at);
  const cases = all.map((one) => {
    targets += 1;
    return { ...one, target: `t${targets}` };
  });
  await Promise.all(
    cases.map(async ({ target }) => {
      for (const move of start.moves) await move(before, target, "before");
    }),
  );
  await before.close();
  const played = await sides.playAll(
    cases.map(({ ours, theirs, trouble, target }) => ({
      ours: (outbox) => ours(outbox, target, "we"),
      theirs: theirs.map((move) => () => move(others, target, "they")),
      trouble,
    })),
  );
  return await Promise.all(
    cases.map(async (one, at) => {
      const { answers, requests } = present(played[at], "a case that was played");
      return { ...one, requests, outcome: { ...answers, remaining: await look(one.target) } };
    }),
  );
}

async function findUnlawful(start: Start, all: readonly Case[]): Promise<unknown[]> {
  const ended = await playAll(start, all);
  return unlawfulOf(ended, (theirs, ours) => inOrder(start, theirs, ours));
}

describe.skipIf(!available)("DynamoDB", () => {
  beforeAll(async () => {
    others = await openOutbox(NOW);
    sides = await openSides(endpoint, SIDES, (through) => openOutbox(NOW, through));
  });

  afterAll(async () => {
    await sides?.[Symbol.asyncDispose]();
    await others?.close();
    client.destroy();
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
      const lasts = moves.filter(({ name }) => !TAKES.has(name));
      const lastNames = new Set(
        lasts.map(({ name, requests }) => `${name}, request ${requests - 1}`),
      );
      return atEach(trouble).filter(({ name }) => !lastNames.has(name));
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

    test("a write recognises itself even if DynamoDB does not recognise its retry", async () => {
      expect(await findUnlawful(start, atEach(TROUBLES.unknown))).toEqual([]);
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
