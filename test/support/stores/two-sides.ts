// Two sides: plays cases in which another client works while one of our calls is in progress, many
// cases at once. Our calls go through a proxy that is programmed beforehand.

import { isDeepStrictEqual } from "node:util";
import { assert, present } from "../../../src/core/assert.ts";
import { reasonOf } from "../../../src/core/errors.ts";
import { createLossyProxy, type LossyProxy } from "./lossy-proxy.ts";

/** Programs the faults before our first request is sent. */
export type Trouble = (proxy: LossyProxy, theirs: () => Promise<void>) => void;

/** The faults of one of our requests, by its number. */
export const TROUBLES = {
  /** Its reply is lost. */
  lost: (at: number): Trouble => {
    return (proxy) => proxy.loseReply(at);
  },
  /** Its response is lost, and its retry meets a transaction, or has another token. */
  unknown: (at: number): Trouble => {
    return (proxy) => {
      proxy.loseReply(at);
      proxy.conflictAt(at + 1);
      proxy.changeToken(at + 1);
    };
  },
  /** The other side does all its work before it is answered. */
  between: (at: number): Trouble => {
    return (proxy, theirs) => proxy.meanwhile(at, theirs);
  },
} as const;

export interface Played<S> {
  readonly ours: (store: S) => Promise<unknown>;
  readonly theirs: readonly (() => Promise<unknown>)[];
  readonly trouble: Trouble;
}

/** Answers of both sides. */
export interface StoreAnswer {
  readonly ours: unknown;
  readonly theirs: readonly unknown[];
}

/** Our side, once per concurrent case. */
export interface Sides<S> extends AsyncDisposable {
  /** In the order of the cases: the answers, and how many requests were ours. */
  playAll(cases: readonly Played<S>[]): Promise<{ answers: StoreAnswer; requests: number }[]>;
}

interface Side<S> {
  readonly store: S;
  readonly proxy: LossyProxy;
}

async function playOne<S>({ store, proxy }: Side<S>, { ours, theirs, trouble }: Played<S>) {
  const answers: unknown[] = [];
  const before = proxy.requests();
  trouble(proxy, async () => {
    for (const make of theirs) answers.push(await make());
  });
  const bothAnswers = { ours: await ours(store).catch(reasonOf), theirs: answers };
  return { answers: bothAnswers, requests: proxy.requests() - before };
}

/** Opens a store through each of `count` proxies. */
export async function openSides<S extends { close(): Promise<void> }>(
  target: string,
  count: number,
  open: (endpoint: string) => Promise<S>,
): Promise<Sides<S>> {
  const sides: Side<S>[] = [];
  for (let side = 0; side < count; side += 1) {
    const proxy = await createLossyProxy(target);
    sides.push({ proxy, store: await open(proxy.endpoint) });
  }
  return {
    async playAll(cases) {
      const played: Awaited<ReturnType<typeof playOne>>[] = [];
      let next = 0;
      const playOn = async (side: Side<S>) => {
        while (next < cases.length) {
          const at = next;
          next += 1;
          played[at] = await playOne(side, present(cases[at], "a case"));
        }
      };
      await Promise.all(sides.map(playOn));
      return played;
    },
    async [Symbol.asyncDispose]() {
      for (const { store, proxy } of sides) {
        await store.close();
        await proxy[Symbol.asyncDispose]();
      }
    },
  };
}

/** What the other side may do at once, and the state it leaves if it is alone. */
export interface RivalRun<M> {
  readonly name: string;
  readonly moves: readonly M[];
  readonly remaining: readonly unknown[];
}

/**
 * The runs that make a difference: runs that change nothing, or leave the same state as an earlier
 * one, are skipped. Runs of several moves all stay, as they may return to their start.
 */
export async function findRuns<M>(
  runs: Readonly<Record<string, readonly M[]>>,
  leftBy: (moves: readonly M[]) => Promise<readonly unknown[]>,
): Promise<RivalRun<M>[]> {
  const distinct: RivalRun<M>[] = [];
  const states = [await leftBy([])];
  for (const [name, moves] of Object.entries(runs)) {
    const remaining = await leftBy(moves);
    if (moves.length === 1 && states.some((one) => isDeepStrictEqual(one, remaining))) continue;
    states.push(remaining);
    distinct.push({ name, moves, remaining });
  }
  return distinct;
}

/** A case that was played, and its outcome. */
interface Ended<M, O> {
  readonly name: string;
  readonly ours: M;
  readonly theirs: readonly M[];
  readonly outcome: O;
}

/** Outcomes that the transitions give in no order at all, with those they would give. */
export async function unlawfulOf<M, O>(
  ended: readonly Ended<M, O>[],
  inOrder: (
    theirs: readonly M[],
    ours: { readonly move: M; readonly position: number },
  ) => Promise<O>,
): Promise<unknown[]> {
  assert(ended.length > 0, "there are cases to judge");
  const unexplained: unknown[] = [];
  for (const { name, ours, theirs, outcome } of ended) {
    const expected: O[] = [];
    for (let position = 0; position <= theirs.length; position += 1) {
      expected.push(await inOrder(theirs, { move: ours, position }));
    }
    if (expected.some((one) => isDeepStrictEqual(one, outcome))) continue;
    unexplained.push({ name, outcome, expected });
  }
  return unexplained;
}
