// Request deadlines: the SDK's own request timeout only warns unless a client was built otherwise,
// and clients are the caller's to build.

import { type DurationMs, seconds } from "../core/units.ts";
import { queueFault } from "./faults.ts";

/** What a request may take, the SDK's own retries included; a receive may wait besides. */
export const REQUEST_MS_MAX: DurationMs = seconds(10);

/** Runs `ask` with a signal that aborts after `msMax`, or together with `signal`. */
export async function withDeadline<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  msMax: DurationMs,
  signal?: AbortSignal,
): Promise<T> {
  const ending = new AbortController();
  const end = () => ending.abort(signal?.reason);
  const late = new Error(`no answer within ${msMax} ms`);
  const timer = setTimeout(() => ending.abort(late), msMax);
  signal?.addEventListener("abort", end, { once: true });
  if (signal?.aborted) end();
  try {
    return await ask(ending.signal);
  } catch (error) {
    throw ending.signal.reason === late ? late : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}

/** Asks a queue or a topic for what does not wait; failures come out as the port names them. */
export async function asked<T>(name: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await withDeadline(ask, REQUEST_MS_MAX);
  } catch (error) {
    throw queueFault(error, name);
  }
}
