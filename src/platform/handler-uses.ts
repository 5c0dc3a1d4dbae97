// Handler uses: notices calls of the clock and of random numbers that a handler makes by itself.
// Nothing is changed: the calls return what they always do (unlike handler-watch.ts).
//   U1. Only calls from the user's code count, directly or through packages, within a watched call.
//       Those of Tidegate and of its drivers do not.
//   U2. A location is reported once, and at most USES_MAX of them. After that many looks at the
//       stack, no more are made: a handler that asks for the time per row stays fast.
//   U3. When the last watch is removed, every global is restored.

import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { callerInUserCode } from "./user-location.ts";

/** A call such as `Date.now()`, and file:line in the user's code. */
export interface NondeterministicUse {
  readonly call: string;
  readonly location: string;
}

export interface UseWatch {
  /** Runs `work`, and notices what it calls, also after an await (U1). */
  watch<T>(work: () => T): T;
  /** In the order in which they were first seen (U2). */
  uses(): readonly NondeterministicUse[];
  close(): void;
}

const USES_MAX = 20;
const LOOKS_MAX = 2_000;

interface Notes {
  readonly found: Map<string, NondeterministicUse>;
  looks: number;
}

const watched = new AsyncLocalStorage<Notes>();
let watches = 0;
let restore: () => void = () => {};

export function watchUses(): UseWatch {
  watches += 1;
  if (watches === 1) restore = patchGlobals();
  const notes: Notes = { found: new Map(), looks: 0 };
  let open = true;
  return {
    watch: (work) => watched.run(notes, work),
    uses: () => [...notes.found.values()],
    close() {
      if (!open) return;
      open = false;
      watches -= 1;
      if (watches === 0) restore(); // U3
    },
  };
}

function note(call: string): void {
  const notes = watched.getStore();
  if (notes === undefined || notes.found.size >= USES_MAX || notes.looks >= LOOKS_MAX) return; // U2
  notes.looks += 1;
  const location = callerInUserCode(import.meta.url); // U1
  if (location !== null) notes.found.set(`${call} ${location}`, { call, location });
}

function patchGlobals(): () => void {
  const undo: (() => void)[] = [];
  const patch = <T extends object, K extends keyof T>(on: T, name: K, value: T[K]) => {
    const original = on[name];
    on[name] = value;
    undo.push(() => {
      on[name] = original;
    });
  };
  const noting = <F extends (...all: never[]) => unknown>(inner: F, call: string): F =>
    ((...all: never[]) => {
      note(call);
      return inner(...all);
    }) as F;
  const node = createRequire(import.meta.url)("node:crypto") as Record<string, never>;
  patch(globalThis, "Date", notingDate(Date));
  patch(Math, "random", noting(Math.random, "Math.random()"));
  for (const name of ["randomUUID", "randomBytes", "randomInt"]) {
    patch(
      node,
      name,
      noting((node[name] as unknown as () => never).bind(node), `${name}()`) as never,
    );
  }
  const { crypto } = globalThis;
  for (const name of ["randomUUID", "getRandomValues"] as const) {
    const inner = crypto[name].bind(crypto) as never;
    patch(crypto as never as Record<string, never>, name, noting(inner, `${name}()`) as never);
  }
  syncBuiltinESMExports();
  return () => {
    for (const back of undo.reverse()) back();
    syncBuiltinESMExports();
  };
}

function notingDate(inner: DateConstructor): DateConstructor {
  const now = () => {
    note("Date.now()");
    return inner.now();
  };
  return new Proxy(inner, {
    apply(target, self, given: []) {
      note("Date()");
      return Reflect.apply(target, self, given);
    },
    construct(target, given, newTarget) {
      if (given.length === 0) note("new Date()");
      return Reflect.construct(target, given, newTarget);
    },
    get: (target, name, receiver) => (name === "now" ? now : Reflect.get(target, name, receiver)),
  });
}
