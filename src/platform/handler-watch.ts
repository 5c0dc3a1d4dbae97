// Handler watch: intercepts what a handler uses apart from its input: time, randomness, timers and
// the network. While a handler is watched, these are answered by a simulated world, and each use is
// reported with its location in the user's code.
//   W1. Only code that a watched handler calls, directly or after an await, is affected; all other
//       code in the process uses the real globals.
//   W2. Sockets are refused, because the world cannot simulate them.
//   W3. When the last watch is removed, every global is restored.
//   W4. A watched handler runs a thousand times, so its `console` output is suppressed.
import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire, syncBuiltinESMExports } from "node:module";
import type net from "node:net";
import { userLocation } from "./user-location.ts";

export type HandlerUse = "time" | "random" | "timer" | "socket";

/** A request that a handler makes with `fetch`. */
export interface OutsideRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The simulated world of a watched handler. */
export interface HandlerWorld {
  now(): number;
  /** A fraction in [0, 1). */
  fraction(): number;
  sleep(ms: number): Promise<void>;
  fetch(request: OutsideRequest): Promise<Response>;
  /** `call` is the called function; `location` is file:line in the user's code, if available. */
  used(use: HandlerUse, call: string, location: string | null): void;
}

/** A watched handler opened a socket (W2). */
export class SocketRefused extends Error {
  override readonly name = "SocketRefused";
}

const worlds = new AsyncLocalStorage<HandlerWorld>();

/** Runs `work` with globals answered by `world`; needs an installed watch (W1). */
export function watchHandler<T>(world: HandlerWorld, work: () => T): T {
  return worlds.run(world, work);
}

let watchers = 0;
let restore: () => void = () => {};

/** Makes the globals watchable until the returned function is called (W3). */
export function installHandlerWatch(): () => void {
  watchers += 1;
  if (watchers === 1) restore = patchGlobals();
  let installed = true;
  return () => {
    if (!installed) return;
    installed = false;
    watchers -= 1;
    if (watchers === 0) restore();
  };
}

function patchGlobals(): () => void {
  const require = createRequire(import.meta.url);
  const undo: (() => void)[] = [];
  const patch = <T extends object, K extends keyof T>(on: T, name: K, value: T[K]) => {
    const original = on[name];
    on[name] = value;
    undo.push(() => {
      on[name] = original;
    });
  };
  const builtin = (name: string) => require(name) as Record<string, unknown>;
  patch(globalThis, "Date", watchedDate(Date));
  patch(
    Math,
    "random",
    watched(Math.random, "random", "Math.random()", (w) => w.fraction()),
  );
  for (const on of [globalThis.crypto, builtin("node:crypto")] as { randomUUID: unknown }[]) {
    const original = on.randomUUID as () => string;
    patch(on, "randomUUID", watched(original.bind(on), "random", "randomUUID()", uuidOf));
  }
  patchSteadyTime(patch);
  patchRandomBytes(patch, builtin("node:crypto"));
  patch(globalThis, "fetch", watchedFetch(globalThis.fetch));
  patch(globalThis, "setInterval", watchedInterval(setInterval, setTimeout)); // Not yet watched.
  patch(globalThis, "clearInterval", watchedClear(clearInterval));
  patch(globalThis, "setTimeout", watchedTimer(setTimeout, "setTimeout()"));
  patch(globalThis, "clearTimeout", watchedClear(clearTimeout));
  patch(
    globalThis,
    "setImmediate",
    watchedTimer(setImmediate as never, "setImmediate()", 0) as never,
  );
  const timers = builtin("node:timers/promises") as { setTimeout: (...all: never[]) => unknown };
  patch(timers, "setTimeout", watchedPause(timers.setTimeout));
  const { Socket } = builtin("node:net") as unknown as typeof net;
  patch(Socket.prototype, "connect", watchedConnect(Socket.prototype.connect as never) as never);
  for (const name of ["debug", "log", "info", "warn", "error"] as const) {
    const write = console[name];
    patch(console, name, (...all) => worlds.getStore() === undefined && write(...all)); // W4
  }
  syncBuiltinESMExports();
  return () => {
    for (const back of undo.reverse()) back();
    syncBuiltinESMExports();
  };
}

type Patch = <T extends object, K extends keyof T>(on: T, name: K, value: T[K]) => void;

function patchSteadyTime(patch: Patch): void {
  const on = Object.getPrototypeOf(performance) as typeof performance;
  const inner = on.now.bind(performance);
  patch(
    on,
    "now",
    watched(inner, "time", "performance.now()", (world) => world.now()),
  );
}

type Fill = <T extends ArrayBufferView>(bytes: T) => T;

/** Random bytes, from Web Crypto and from node:crypto. */
function patchRandomBytes(patch: Patch, node: Record<string, unknown>): void {
  const fill = (world: HandlerWorld, view: ArrayBufferView) => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    for (const at of bytes.keys()) bytes[at] = Math.floor(world.fraction() * 256);
  };
  const { crypto } = globalThis as { crypto: { getRandomValues: Fill } };
  const original = crypto.getRandomValues.bind(crypto) as Fill;
  patch(crypto, "getRandomValues", (view) => {
    const world = worlds.getStore();
    if (world === undefined) return original(view);
    world.used("random", "getRandomValues()", userLocation());
    fill(world, view);
    return view;
  });
  const randomBytes = node.randomBytes as (size: number, then?: unknown) => Buffer;
  patch(node, "randomBytes", (size: number, then?: (error: null, bytes: Buffer) => void) => {
    const world = worlds.getStore();
    if (world === undefined) return randomBytes(size, then);
    world.used("random", "randomBytes()", userLocation());
    const bytes = Buffer.alloc(size);
    fill(world, bytes);
    if (then === undefined) return bytes;
    queueMicrotask(() => then(null, bytes));
  });
}

/** A function that a watched handler gets from its world; other code gets the original (W1). */
function watched<T>(
  inner: () => T,
  use: HandlerUse,
  call: string,
  answer: (world: HandlerWorld) => T,
): () => T {
  return (...all: unknown[]) => {
    const world = worlds.getStore();
    if (world === undefined) return (inner as (...all: unknown[]) => T)(...all);
    world.used(use, call, userLocation());
    return answer(world);
  };
}

function uuidOf(world: HandlerWorld): `${string}-${string}-${string}-${string}-${string}` {
  const hex = () =>
    Math.floor(world.fraction() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, "0");
  const [a, b, c, d] = [hex(), hex(), hex(), hex()];
  return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-8${c.slice(1, 4)}-${c.slice(4)}${d}`;
}

function watchedDate(inner: DateConstructor): DateConstructor {
  const now = (call: string) => {
    const world = worlds.getStore();
    if (world === undefined) return inner.now();
    world.used("time", call, userLocation());
    return world.now();
  };
  const dateNow = () => now("Date.now()");
  return new Proxy(inner, {
    apply: () => new inner(now("Date()")).toString(),
    construct: (target, given, newTarget) =>
      Reflect.construct(target, given.length === 0 ? [now("new Date()")] : given, newTarget),
    get: (target, name, receiver) =>
      name === "now" ? dateNow : Reflect.get(target, name, receiver),
  });
}

function watchedTimer(inner: typeof setTimeout, call: string, fixedMs?: number): typeof setTimeout {
  const timer = (work: (...all: unknown[]) => void, ...rest: unknown[]) => {
    const world = worlds.getStore();
    if (world === undefined) return (inner as (...all: unknown[]) => unknown)(work, ...rest);
    world.used("timer", call, userLocation());
    const [ms, ...given] = fixedMs === undefined ? rest : [fixedMs, ...rest];
    let cleared = false;
    void world.sleep(Number(ms ?? 0)).then(() => cleared || work(...given));
    const handle = inner(() => {}, 0);
    cancellations.set(handle, () => {
      cleared = true;
    });
    return handle;
  };
  return Object.assign(timer, inner) as never;
}

function watchedInterval(inner: typeof setInterval, once: typeof setTimeout): typeof setInterval {
  const interval = (work: (...all: unknown[]) => void, ms?: unknown, ...given: unknown[]) => {
    const world = worlds.getStore();
    if (world === undefined) {
      return (inner as (...all: unknown[]) => unknown)(work, ms, ...given);
    }
    world.used("timer", "setInterval()", userLocation());
    let cleared = false;
    const tick = async () => {
      for (;;) {
        await world.sleep(Math.max(1, Number(ms ?? 0)));
        if (cleared) return;
        work(...given);
      }
    };
    void tick();
    const handle = once(() => {}, 0);
    cancellations.set(handle, () => {
      cleared = true;
    });
    return handle;
  };
  return Object.assign(interval, inner) as never;
}

/** Cancels the timers of watched handlers. */
const cancellations = new WeakMap<object, () => void>();

function watchedClear(inner: typeof clearTimeout): typeof clearTimeout {
  return (handle) => {
    if (typeof handle === "object" && handle !== null) cancellations.get(handle)?.();
    inner(handle);
  };
}

function watchedPause(inner: (...all: never[]) => unknown): (...all: never[]) => unknown {
  return (...all) => {
    const world = worlds.getStore();
    if (world === undefined) return inner(...all);
    world.used("timer", "setTimeout()", userLocation());
    const [ms, value] = all as unknown[];
    return world.sleep(Number(ms ?? 0)).then(() => value);
  };
}

function watchedFetch(inner: typeof fetch): typeof fetch {
  return async (input, init) => {
    const world = worlds.getStore();
    if (world === undefined) return inner(input, init);
    const request = new Request(input, init);
    request.signal.throwIfAborted();
    const { method, url } = request;
    const headers = Object.fromEntries(request.headers);
    const body = request.body === null ? "" : await request.text();
    return world.fetch({ method, url, headers, body });
  };
}

function watchedConnect(inner: (...all: unknown[]) => unknown) {
  return function connect(this: unknown, ...all: unknown[]): unknown {
    const world = worlds.getStore();
    if (world === undefined) return inner.apply(this, all);
    const location = userLocation();
    world.used("socket", "a socket", location);
    throw new SocketRefused(
      `the handler opened a socket${at(location)}; sockets are not available in a proof`,
    ); // W2
  };
}

function at(location: string | null): string {
  return location === null ? "" : ` at ${location}`;
}
