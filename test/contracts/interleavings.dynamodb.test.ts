// Interleavings: two sides work on the same records at once. Our side uses a proxy; after one of
// its requests is done and before it is answered, the other side does all its work. All answers,
// and the resulting state, must be what the transitions give when one side follows the other.
//   X1. Every answer, input, log entry, object, note and run is compared, and every item is in its
//       lists.
//   X2. A call on one record sends its requests one after another, so before a request is the same
//       as after the previous one. Before the first and after the last the two sides run in
//       sequence, which ledger-differential.test.ts covers.
//   X3. Only the last request of our call writes. So the other side finds our start state. Moves
//       that change nothing then, or nothing that our call touches, need not be tried, and moves
//       that leave the same state need not be tried twice.
//   X4. Responses are lost only while no other side works. A write of a single item that was not
//       answered, and overwritten before its retry, cannot recognise itself: its holder gets the
//       answer of a later caller, as the port says (L5, FailedAttempt).
//   X5. `npm test` plays every sixteenth start, CI plays all of them (TIDEGATE_STARTS).

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

/** X5 */
const EVERY = process.env.TIDEGATE_STARTS === "all" ? 1 : 16;
const CHOSEN = Object.entries(STARTS).filter((_, at) => at % EVERY === 0);

/** Cases that are played concurrently. */
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
  const connection = { ...options, endpoint: through, listing: true };
  const ledger = await createDynamoLedger(ports, connection);
  return { ...ledger, forget: scopes.forget };
}

function freshScope(): Scope {
  scopesMade += 1;
  return { pipeline: `scope-${scopesMade}`, generation: 1 };
}

/** Plays cases from one start; returns each outcome and the number of our requests. */
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
  const states = await scopes.lookAtAll(copies);
  return cases.map((one, at) => {
    const { answers, requests } = present(played[at], "a case that was played");
    return { ...one, requests, outcome: { ...answers, left: present(states[at], "its state") } };
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

  describe.each(CHOSEN)("from %s", (_, start) => {
    /** Our moves, with the number of requests each needs without interference. */
    const moves: { readonly name: string; readonly ours: Move; readonly requests: number }[] = [];

    /** A case with that fault for each request of every move: the last one, or all but the last. */
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
        expect(outcome).toEqual(await inOrder(start, [], { move: ours, position: 0 }));
        expect(outcome.left).toEqual(await look(others, scope));
      }
    });

    test("a call whose replies are lost is done once", async () => {
      expect(await findUnlawful(start, atEach("any", TROUBLES.lost))).toEqual([]);
    });

    test("a write recognises itself even if DynamoDB does not recognise its retry", async () => {
      expect(await findUnlawful(start, atEach("last", TROUBLES.unknown))).toEqual([]);
    });

    test("two concurrent sides have the outcome of some sequential order", async () => {
      const leftBy = async (some: readonly Move[]) => (await inOrder(start, some, null)).left;
      const untouched = await leftBy([]);
      const runs = await findRuns({ ...RUNS, ...start.runs }, leftBy); // X3
      const cases = atEach("not last", TROUBLES.between).flatMap((one) =>
        runs
          .filter(({ remaining }) =>
            PARTS.some(
              (part, at) =>
                one.ours.touches.includes(part) && !isDeepStrictEqual(remaining[at], untouched[at]),
            ),
          )
          .map((run) => ({ ...one, name: `${one.name}: ${run.name}`, theirs: run.moves })),
      );
      expect(await findUnlawful(start, cases)).toEqual([]);
    });
  });
});
