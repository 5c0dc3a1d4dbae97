// Handler watch: what a handler reaches for besides what it was given: the time, chance, timers and
// the network. While one is watched, those answer from a world of the watcher's, and each use is
// told with its place in the user's code.
//   W1. Only code that a watched handler calls, directly or after an await, is affected; everything
//       else in the process sees the globals as they are.
//   W2. Sockets are refused: there is no world in which they could be answered from.
//   W3. When the last watcher is gone, every global is what it was.
//   W4. A watched handler is run a thousand times: what it prints by `console` is not shown.

import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire, syncBuiltinESMExports } from "node:module";
import type net from "node:net";

export type HandlerUse = "time" | "chance" | "timer" | "socket";

/** A request that a handler makes by `fetch`. */
export interface OutsideRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The world that a watched handler lives in. */
export interface HandlerWorld {
  now(): number;
  /** A fraction in [0, 1). */
  fraction(): number;
  sleep(ms: number): Promise<void>;
  fetch(request: OutsideRequest): Promise<Response>;
  /** `call` is what was called, `site` is file:line in the user's code, if it can be had. */
  used(use: HandlerUse, call: string, site: string | null): void;
}

/** A handler opened a socket, which the world has none of. */
export class SocketRefused extends Error {
  override readonly name = "SocketRefused";
}

const worlds = new AsyncLocalStorage<HandlerWorld>();
const OWN_FILES = new URL("../", import.meta.url).href;
const FRAMES_MAX = 50;

/** Runs `work` with the globals answering from `world`; needs an installed watch (W1). */
export function watchHandler<T>(world: HandlerWorld, work: () => T): T {
  return worlds.run(world, work);
}

let watchers = 0;
let restore: () => void = () => {};

/** Makes the globals watchable until the answer is called (W3). */
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
    const former = on[name];
    on[name] = value;
    undo.push(() => {
      on[name] = former;
    });
  };
  const builtin = (name: string) => require(name) as Record<string, unknown>;
  patch(globalThis, "Date", watchedDate(Date));
  patch(
    Math,
    "random",
    watched(Math.random, "chance", "Math.random()", (w) => w.fraction()),
  );
  for (const on of [globalThis.crypto, builtin("node:crypto")] as { randomUUID: unknown }[]) {
    const former = on.randomUUID as () => string;
    patch(on, "randomUUID", watched(former.bind(on), "chance", "randomUUID()", uuidOf));
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

/** Bytes by chance: of both faces of crypto, and of node's own. */
function patchRandomBytes(patch: Patch, node: Record<string, unknown>): void {
  const fill = (world: HandlerWorld, view: ArrayBufferView) => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    for (const at of bytes.keys()) bytes[at] = Math.floor(world.fraction() * 256);
  };
  const { crypto } = globalThis as { crypto: { getRandomValues: Fill } };
  const former = crypto.getRandomValues.bind(crypto) as Fill;
  patch(crypto, "getRandomValues", (view) => {
    const world = worlds.getStore();
    if (world === undefined) return former(view);
    world.used("chance", "getRandomValues()", callSite());
    fill(world, view);
    return view;
  });
  const randomBytes = node.randomBytes as (size: number, then?: unknown) => Buffer;
  patch(node, "randomBytes", (size: number, then?: (error: null, bytes: Buffer) => void) => {
    const world = worlds.getStore();
    if (world === undefined) return randomBytes(size, then);
    world.used("chance", "randomBytes()", callSite());
    const bytes = Buffer.alloc(size);
    fill(world, bytes);
    if (then === undefined) return bytes;
    queueMicrotask(() => then(null, bytes));
  });
}

/** A function that answers from the world of whoever is watched, and else as ever (W1). */
function watched<T>(
  inner: () => T,
  use: HandlerUse,
  call: string,
  answer: (world: HandlerWorld) => T,
): () => T {
  return (...all: unknown[]) => {
    const world = worlds.getStore();
    if (world === undefined) return (inner as (...all: unknown[]) => T)(...all);
    world.used(use, call, callSite());
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
    world.used("time", call, callSite());
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
    world.used("timer", call, callSite());
    const [ms, ...given] = fixedMs === undefined ? rest : [fixedMs, ...rest];
    let cleared = false;
    void world.sleep(Number(ms ?? 0)).then(() => cleared || work(...given));
    const handle = inner(() => {}, 0);
    calledOff.set(handle, () => {
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
    world.used("timer", "setInterval()", callSite());
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
    calledOff.set(handle, () => {
      cleared = true;
    });
    return handle;
  };
  return Object.assign(interval, inner) as never;
}

/** How to call off the timers of watched handlers. */
const calledOff = new WeakMap<object, () => void>();

function watchedClear(inner: typeof clearTimeout): typeof clearTimeout {
  return (handle) => {
    if (typeof handle === "object" && handle !== null) calledOff.get(handle)?.();
    inner(handle);
  };
}

function watchedPause(inner: (...all: never[]) => unknown): (...all: never[]) => unknown {
  return (...all) => {
    const world = worlds.getStore();
    if (world === undefined) return inner(...all);
    world.used("timer", "setTimeout()", callSite());
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
    const site = callSite();
    world.used("socket", "a socket", site);
    throw new SocketRefused(`a handler that is being proved opened a socket${at(site)}`); // W2
  };
}

function at(site: string | null): string {
  return site === null ? "" : ` at ${site}`;
}

/** The innermost place of the user's own code on the stack. */
function callSite(): string | null {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES_MAX;
  const { stack = "" } = new Error("here");
  Error.stackTraceLimit = limit;
  for (const line of stack.split("\n").slice(1)) {
    const [, place = "", row = ""] = /\(?((?:file:\/\/)?\/[^()]*?):(\d+):\d+\)?$/.exec(line) ?? [];
    if (place === "" || place.includes("/node_modules/")) continue;
    const url = place.startsWith("file:") ? place : `file://${place}`;
    if (!url.startsWith(OWN_FILES))
      return `${url.replace(/\?.*$/, "").slice("file://".length)}:${row}`;
  }
  return null;
}
