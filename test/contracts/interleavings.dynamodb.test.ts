// Interleavings: two sides at work on the same records at once. Ours asks through a proxy; while
// one of its requests is done and not yet answered, the other side does all it has to do. Whatever
// both are told, and what is left behind, is what the law gives when one comes after the other.
//   X1. No exception is made: not of an answer, an entry of a log, an object or a note.
//   X2. A call of one record sends its requests one after the other, so that before a request is
//       the same as after the one before it; before the first and after the last the two sides
//       follow one another, which ledger-differential.test.ts is about.
//   X3. Nothing of ours is written but by its last request. So the other side finds what we
//       started from: what changes nothing then, or nothing that our call touches, need not be
//       tried, and what leaves the same behind need not be tried twice.
//   X4. Replies are lost while nobody else is at work. A write of a single item that was not
//       answered, and written over before it is repeated, cannot know itself any more: its holder
//       is told what the law tells one who comes later, as the port says (L5, FailedAttempt).

import { isDeepStrictEqual } from "node:util";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { present } from "../../src/core/assert.ts";
import { reasonOf } from "../../src/core/errors.ts";
import type { EpochMs } from "../../src/core/units.ts";
import { createDynamoLedger } from "../../src/stores/dynamodb/ledger.ts";
import { useDynamo } from "./database-servers.ts";
import type { Move, Outcome, Part, Player, Scope, Start } from "./ledger-moves.ts";
import { inOrder, look, MOVES, NOW, PARTS, RUNS, STARTS } from "./ledger-moves.ts";
import { createLedgerScopes } from "./ledger-scopes.ts";
import { createLossyProxy, type LossyProxy } from "./lossy-proxy.ts";
import { createManualClock } from "./manual-clock.ts";
import { random } from "./real-ports.ts";

/** Cases that are played at once, each through a proxy of its own. */
const SIDES = 8;

const { available, endpoint, freshOptions } = await useDynamo();
const options = freshOptions();
const client = new DynamoDBClient(options);
const scopes = createLedgerScopes(client, options.table);
const sides: { readonly ledger: Player; readonly proxy: LossyProxy }[] = [];
let others: Player;
let scopesMade = 0;

/** Does harm to our requests before the first of them is sent. */
type Trouble = (proxy: LossyProxy, theirs: () => Promise<void>) => void;

interface Case {
  readonly name: string;
  readonly ours: Move;
  readonly theirs: readonly Move[];
  readonly trouble: Trouble;
}

interface Run {
  readonly name: string;
  readonly moves: readonly Move[];
  readonly changes: readonly Part[];
  readonly left: readonly unknown[];
}

async function openPlayer(now: EpochMs, through: string): Promise<Player> {
  const ports = { clock: createManualClock(now), random };
  const ledger = await createDynamoLedger(ports, { ...options, endpoint: through });
  return { ...ledger, forget: scopes.forget };
}

function freshScope(): Scope {
  scopesMade += 1;
  return { pipeline: `scope-${scopesMade}`, generation: 1 };
}

async function playOne(side: (typeof sides)[number], scope: Scope, { ours, ...rest }: Case) {
  const { ledger, proxy } = side;
  const theirs: unknown[] = [];
  const before = proxy.requests();
  rest.trouble(proxy, async () => {
    for (const move of rest.theirs) theirs.push(await move.make(others, scope, "they"));
  });
  const told = await ours.make(ledger, scope, "we").catch(reasonOf);
  return { told: { ours: told, theirs }, requests: proxy.requests() - before };
}

/** Plays cases from one start; tells what came of each, and how many requests were ours. */
async function playAll(start: Start, all: readonly Case[]) {
  const first = freshScope();
  const copies = all.map(freshScope);
  const before = await openPlayer(start.at, endpoint);
  for (const move of start.moves) await move.make(before, first, "before");
  await before.close();
  await scopes.copy(first, copies);
  const played: Awaited<ReturnType<typeof playOne>>[] = [];
  let next = 0;
  const playOn = async (side: (typeof sides)[number]) => {
    while (next < all.length) {
      const at = next;
      next += 1;
      const scope = present(copies[at], "the scope of a case");
      played[at] = await playOne(side, scope, present(all[at], "a case"));
    }
  };
  await Promise.all(sides.map(playOn));
  const left = await scopes.lookAtAll(copies);
  return played.map(({ told, requests }, at) => ({
    requests,
    scope: present(copies[at], "the scope of a case"),
    outcome: { ...told, left: present(left[at], "what a case left") },
  }));
}

/** What came of cases that the law gives in no order at all, beside what it would give. */
async function findUnlawful(start: Start, all: readonly Case[]): Promise<unknown[]> {
  expect(all).not.toEqual([]);
  const found: unknown[] = [];
  for (const [at, { outcome }] of (await playAll(start, all)).entries()) {
    const { name, ours, theirs } = present(all[at], "a case");
    const lawful: Outcome[] = [];
    for (let place = 0; place <= theirs.length; place += 1) {
      lawful.push(await inOrder(start, theirs, { move: ours, place }));
    }
    if (lawful.some((one) => isDeepStrictEqual(one, outcome))) continue;
    found.push({ name, outcome, lawful });
  }
  return found;
}

/** What the other side may do that makes a difference (X3). */
async function findRuns(start: Start): Promise<Run[]> {
  const { left: untouched } = await inOrder(start, [], null);
  const runs: Run[] = [];
  for (const [name, moves] of Object.entries({ ...RUNS, ...start.runs })) {
    const { left } = await inOrder(start, moves, null);
    const changes = PARTS.filter((_, at) => !isDeepStrictEqual(left[at], untouched[at]));
    const known = moves.length === 1 && runs.some((run) => isDeepStrictEqual(run.left, left));
    if (changes.length > 0 && !known) runs.push({ name, moves, changes, left });
  }
  return runs;
}

describe.skipIf(!available)("DynamoDB", () => {
  beforeAll(async () => {
    others = await openPlayer(NOW, endpoint);
    for (let side = 0; side < SIDES; side += 1) {
      const proxy = await createLossyProxy(endpoint);
      sides.push({ proxy, ledger: await openPlayer(NOW, proxy.endpoint) });
    }
  });

  afterAll(async () => {
    for (const { ledger, proxy } of sides) {
      await ledger.close();
      await proxy[Symbol.asyncDispose]();
    }
    await others?.close();
    client.destroy();
  });

  describe.each(Object.entries(STARTS))("from %s", (_, start) => {
    /** Our moves, with how many requests each needs when nobody is in its way. */
    const moves: { readonly name: string; readonly ours: Move; readonly requests: number }[] = [];

    /** One case for each request but the `spared` last ones of every move, in the same trouble. */
    function atEach(spared: number, trouble: (request: number) => Trouble): Case[] {
      return moves.flatMap(({ name, ours, requests }) =>
        Array.from({ length: Math.max(0, requests - spared) }, (_, at) => {
          return { name: `${name}, request ${at}`, ours, theirs: [], trouble: trouble(at) };
        }),
      );
    }

    beforeAll(async () => {
      const all = Object.entries(MOVES).map(([name, ours]) => {
        return { name, ours, theirs: [], trouble: () => {} };
      });
      for (const [at, { requests, outcome, scope }] of (await playAll(start, all)).entries()) {
        const { name, ours } = present(all[at], "a case");
        moves.push({ name, ours, requests });
        expect(outcome).toEqual(await inOrder(start, [], { move: ours, place: 0 }));
        expect(outcome.left).toEqual(await look(others, scope));
      }
    });

    test("a call whose replies are lost is done once", async () => {
      const lost = (at: number) => (proxy: LossyProxy) => proxy.loseReply(at);
      expect(await findUnlawful(start, atEach(0, lost))).toEqual([]);
    });

    test("a write knows itself though its repetition met a transaction", async () => {
      const met = (at: number) => (proxy: LossyProxy) => {
        proxy.loseReply(at);
        proxy.conflictAt(at + 1);
      };
      expect(await findUnlawful(start, atEach(0, met))).toEqual([]);
    });

    test("two sides at once are two sides one after the other", async () => {
      const runs = await findRuns(start);
      const between =
        (at: number): Trouble =>
        (proxy, theirs) =>
          proxy.meanwhile(at, theirs);
      const cases = atEach(1, between).flatMap((one) =>
        runs
          .filter(({ changes }) => changes.some((part) => one.ours.touches.includes(part)))
          .map((run) => ({ ...one, name: `${one.name}: ${run.name}`, theirs: run.moves })),
      );
      expect(await findUnlawful(start, cases)).toEqual([]);
    });
  });
});
