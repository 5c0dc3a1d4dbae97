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
import type { EpochMs } from "../../src/core/units.ts";
import { createDynamoLedger } from "../../src/stores/dynamodb/ledger.ts";
import { createManualClock } from "../support/manual-clock.ts";
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
import type { Move, Player, Scope, Start } from "./ledger-moves.ts";
import { inOrder, look, MOVES, NOW, PARTS, RUNS, STARTS } from "./ledger-moves.ts";
import { createLedgerScopes } from "./ledger-scopes.ts";

/** Cases that are played at once. */
const SIDES = 8;

const { available, endpoint, freshOptions } = await useDynamo();
const options = freshOptions();
const client = new DynamoDBClient(options);
const scopes = createLedgerScopes(client, options.table);
let sides: Sides<Player>;
let others: Player;
let scopesMade = 0;

interface Case {
  readonly name: string;
  readonly ours: Move;
  readonly theirs: readonly Move[];
  readonly trouble: Trouble;
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

/** Plays cases from one start; tells what came of each, and how many requests were ours. */
async function playAll(start: Start, all: readonly Case[]) {
  const first = freshScope();
  const before = await openPlayer(start.at, endpoint);
  for (const move of start.moves) await move.make(before, first, "before");
  await before.close();
  const cases = all.map((one) => ({ ...one, scope: freshScope() }));
  const copies = cases.map(({ scope }) => scope);
  await scopes.copy(first, copies);
  const played = await sides.playAll(
    cases.map(({ ours, theirs, trouble, scope }) => ({
      ours: (ledger) => ours.make(ledger, scope, "we"),
      theirs: theirs.map((move) => () => move.make(others, scope, "they")),
      trouble,
    })),
  );
  const left = await scopes.lookAtAll(copies);
  return cases.map((one, at) => {
    const { told, requests } = present(played[at], "a case that was played");
    return { ...one, requests, outcome: { ...told, left: present(left[at], "what it left") } };
  });
}

async function findUnlawful(start: Start, all: readonly Case[]): Promise<unknown[]> {
  const ended = await playAll(start, all);
  return unlawfulOf(ended, (theirs, ours) => inOrder(start, theirs, ours));
}

describe.skipIf(!available)("DynamoDB", () => {
  beforeAll(async () => {
    others = await openPlayer(NOW, endpoint);
    sides = await openSides(endpoint, SIDES, (through) => openPlayer(NOW, through));
  });

  afterAll(async () => {
    await sides?.[Symbol.asyncDispose]();
    await others?.close();
    client.destroy();
  });

  describe.each(Object.entries(STARTS))("from %s", (_, start) => {
    /** Our moves, with how many requests each needs when nobody is in its way. */
    const moves: { readonly name: string; readonly ours: Move; readonly requests: number }[] = [];

    /** A case in that trouble for each request of every move, the last one or all but that. */
    function atEach(which: "any" | "last" | "not last", trouble: (at: number) => Trouble): Case[] {
      return moves.flatMap(({ name, ours, requests }) =>
        Array.from({ length: requests }, (_, at) => at)
          .filter((at) => which === "any" || (at === requests - 1) === (which === "last"))
          .map((at) => {
            return { name: `${name}, request ${at}`, ours, theirs: [], trouble: trouble(at) };
          }),
      );
    }

    beforeAll(async () => {
      const all = Object.entries(MOVES).map(([name, ours]) => {
        return { name, ours, theirs: [], trouble: () => {} };
      });
      for (const { name, ours, requests, outcome, scope } of await playAll(start, all)) {
        moves.push({ name, ours, requests });
        expect(outcome).toEqual(await inOrder(start, [], { move: ours, place: 0 }));
        expect(outcome.left).toEqual(await look(others, scope));
      }
    });

    test("a call whose replies are lost is done once", async () => {
      expect(await findUnlawful(start, atEach("any", TROUBLES.lost))).toEqual([]);
    });

    test("a write knows itself though its repetition is not known for one", async () => {
      expect(await findUnlawful(start, atEach("last", TROUBLES.unknown))).toEqual([]);
    });

    test("two sides at once are two sides one after the other", async () => {
      const leftBy = async (some: readonly Move[]) => (await inOrder(start, some, null)).left;
      const untouched = await leftBy([]);
      const runs = await findRuns({ ...RUNS, ...start.runs }, leftBy); // X3
      const cases = atEach("not last", TROUBLES.between).flatMap((one) =>
        runs
          .filter(({ left }) =>
            PARTS.some(
              (part, at) =>
                one.ours.touches.includes(part) && !isDeepStrictEqual(left[at], untouched[at]),
            ),
          )
          .map((run) => ({ ...one, name: `${one.name}: ${run.name}`, theirs: run.moves })),
      );
      expect(await findUnlawful(start, cases)).toEqual([]);
    });
  });
});
