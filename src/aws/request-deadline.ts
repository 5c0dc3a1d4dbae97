// Request deadline: a time limit per request. The SDK's own request timeout only logs a warning by
// default, and callers create the clients.

import { type DurationMs, seconds } from "../core/units.ts";
import { queueFault } from "./sdk-errors.ts";

/** The limit of a request, including the SDK's retries; a receive may also wait. */
export const REQUEST_MS_MAX: DurationMs = seconds(10);

/** Runs `ask` with a signal that aborts after `msMax`, or when `signal` aborts. */
export async function withDeadline<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  msMax: DurationMs,
  signal?: AbortSignal,
): Promise<T> {
  const ending = new AbortController();
  const end = () => ending.abort(signal?.reason);
  let late: Error | null = null; // An error takes a stack, so it is created when it is needed.
  const timer = setTimeout(() => {
    late = new Error(`no response within ${msMax} ms`);
    ending.abort(late);
  }, msMax);
  signal?.addEventListener("abort", end, { once: true });
  if (signal?.aborted) end();
  try {
    return await ask(ending.signal);
  } catch (error) {
    throw late !== null && ending.signal.reason === late ? late : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}

/** Sends a request that does not wait to a queue or topic; throws errors of the port. */
export async function asked<T>(name: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await withDeadline(ask, REQUEST_MS_MAX);
  } catch (error) {
    throw queueFault(error, name);
  }
}
