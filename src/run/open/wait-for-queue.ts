// Wait for queue: a pipeline that starts before its queue or its ledger answers waits for it.
//   W1. Only a service that does not answer is retried. A refusal (no such queue, access denied, a
//       wrong password) and a wrong setting fail immediately: waiting would hide the mistake.
//   W2. One log line per attempt; waits double up to WAIT_MS_MAX.
//   W3. An abort ends the wait at once. An environment that opens later is closed again.

import { TidegateError } from "../../core/errors.ts";
import { durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LogFields, LogLevel } from "../../ports/telemetry.ts";

export interface WaitPorts {
  readonly clock: Clock;
  readonly log: (level: LogLevel, message: string, fields?: LogFields) => void;
}

export interface WaitOptions {
  /** For the log line. */
  readonly queue: string;
  readonly signal?: AbortSignal | undefined;
}

interface Closable {
  close(): Promise<void>;
}

const WAIT_MS_MIN = 1_000;
const WAIT_MS_MAX = 30_000;
/** Errors of the SDK and of Node that no wait solves, although no queue has answered. */
const MISTAKES = new Set(["CredentialsProviderError", "TypeError"]);
/**
 * Codes of a database that starts or stops (57P01 to 57P03), of one without a free connection, and
 * of a port without a server.
 */
const NOT_UP = new Set(["57P01", "57P02", "57P03", "53300", "ECONNREFUSED", "ECONNRESET"]);

/** Calls `open` until the queue answers; rejects with the signal's reason when it aborts. */
export function waitForQueue<T extends Closable>(
  ports: WaitPorts,
  open: () => Promise<T>,
  { queue, signal }: WaitOptions,
): Promise<T> {
  return waitFor(`queue ${queue}`, isUnanswered, ports, open, signal);
}

/** Calls `open` until the ledger's server is up; rejects as `waitForQueue`. */
export function waitForLedger<T extends Closable>(
  ports: WaitPorts,
  open: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  return waitFor("the ledger's database", isStarting, ports, open, signal);
}

async function waitFor<T extends Closable>(
  what: string,
  isDown: (error: unknown) => error is TidegateError,
  { clock, log }: WaitPorts,
  open: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let waitMs = WAIT_MS_MIN; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
    try {
      return await unlessAborted(open(), signal);
    } catch (error) {
      if (signal?.aborted === true || !isDown(error)) throw error; // W1
      const next = `retrying in ${waitMs / 1_000} s`;
      log("warn", `${what} does not answer, ${next}`, { reason: error.message }); // W2
    }
    await clock.sleep(durationMs(waitMs), signal); // W3
  }
}

function isUnanswered(error: unknown): error is TidegateError {
  if (!(error instanceof TidegateError) || error.code !== "TG_QUEUE_UNAVAILABLE") return false;
  return !MISTAKES.has((error.cause as Error | undefined)?.name ?? "");
}

function isStarting(error: unknown): error is TidegateError {
  if (!(error instanceof TidegateError) || error.code !== "TG_LEDGER_UNAVAILABLE") return false;
  const { cause } = error;
  // A host with several addresses fails with all their errors.
  const errors: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return errors.every((each) => NOT_UP.has((each as { code?: string } | undefined)?.code ?? ""));
}

async function unlessAborted<T extends Closable>(
  opening: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return opening;
  let stop = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([opening, aborted]);
  } catch (error) {
    if (signal.aborted) void opening.then((late) => late.close()).catch(() => undefined); // W3
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
