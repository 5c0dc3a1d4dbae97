// Two sides: plays cases in which somebody else is at work while a call of ours is under way, many
// at once. Ours asks through a proxy that is told beforehand what to do to which request.

import { isDeepStrictEqual } from "node:util";
import { assert, present } from "../../../src/core/assert.ts";
import { reasonOf } from "../../../src/core/errors.ts";
import { createLossyProxy, type LossyProxy } from "./lossy-proxy.ts";

/** Does harm to our requests before the first of them is sent. */
export type Trouble = (proxy: LossyProxy, theirs: () => Promise<void>) => void;

/** The troubles of a request of ours, by its number. */
export const TROUBLES = {
  /** Its reply is lost. */
  lost: (at: number): Trouble => {
    return (proxy) => proxy.loseReply(at);
  },
  /** Its reply is lost, and its repetition meets a transaction, or has another's token. */
  unknown: (at: number): Trouble => {
    return (proxy) => {
      proxy.loseReply(at);
      proxy.conflictAt(at + 1);
      proxy.changeToken(at + 1);
    };
  },
  /** The other side does all it has to do before it is answered. */
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

/** Our side, as often as cases are played at once. */
export interface Sides<S> extends AsyncDisposable {
  /** In the order of the cases: the answers, and how many requests were ours. */
  playAll(cases: readonly Played<S>[]): Promise<{ told: StoreAnswer; requests: number }[]>;
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
  const told = { ours: await ours(store).catch(reasonOf), theirs: answers };
  return { told, requests: proxy.requests() - before };
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

/** What the other side may do in one go, and what it leaves behind if it is alone. */
export interface Run<M> {
  readonly name: string;
  readonly moves: readonly M[];
  readonly left: readonly unknown[];
}

/**
 * The runs that make a difference: what changes nothing, and what leaves the same behind as one
 * before it, is left out. Of several moves all are kept, as they may come back to where they began.
 */
export async function findRuns<M>(
  runs: Readonly<Record<string, readonly M[]>>,
  leftBy: (moves: readonly M[]) => Promise<readonly unknown[]>,
): Promise<Run<M>[]> {
  const found: Run<M>[] = [];
  const known = [await leftBy([])];
  for (const [name, moves] of Object.entries(runs)) {
    const left = await leftBy(moves);
    if (moves.length === 1 && known.some((one) => isDeepStrictEqual(one, left))) continue;
    known.push(left);
    found.push({ name, moves, left });
  }
  return found;
}

/** A case that was played, and what came of it. */
interface Ended<M, O> {
  readonly name: string;
  readonly ours: M;
  readonly theirs: readonly M[];
  readonly outcome: O;
}

/** What came of cases that the law gives in no order at all, beside what it would give. */
export async function unlawfulOf<M, O>(
  ended: readonly Ended<M, O>[],
  inOrder: (theirs: readonly M[], ours: { readonly move: M; readonly place: number }) => Promise<O>,
): Promise<unknown[]> {
  assert(ended.length > 0, "there are cases to judge");
  const found: unknown[] = [];
  for (const { name, ours, theirs, outcome } of ended) {
    const lawful: O[] = [];
    for (let place = 0; place <= theirs.length; place += 1) {
      lawful.push(await inOrder(theirs, { move: ours, place }));
    }
    if (lawful.some((one) => isDeepStrictEqual(one, outcome))) continue;
    found.push({ name, outcome, lawful });
  }
  return found;
}
