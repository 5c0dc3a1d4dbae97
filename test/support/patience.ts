// Patience: how long tests wait for what must happen, on a machine that may be busy.
//   W1. A deadline only ends a wait for what never comes, so it is far above what a test needs.
//   W2. Deadlines grow with the slowness of the machine: the time of a fixed computation against
//       that of an idle core, or the processes that want a core, whichever is more.
//   W3. Vitest's own process measures it once per run, and its workers inherit the result. What
//       comes later is within the deadlines of W1.

import { availableParallelism, loadavg } from "node:os";

const LOOPS = 100_000_000;
/** What the loops take on an idle core of a common server, rounded up. */
const IDLE_MS = 150;
/** Beyond it, a test that hangs would cost more than a slow one saves. */
const SLOWDOWN_MAX = 12;

function measureSlowdown(): number {
  const startedMs = performance.now();
  let sum = 0;
  for (let at = 0; at < LOOPS; at += 1) sum = (sum + at) | 0;
  const computing = (performance.now() - startedMs + (sum & 1)) / IDLE_MS;
  const [running = 0] = loadavg();
  const slowdown = Math.max(1, computing, running / availableParallelism()); // W2
  return Math.min(SLOWDOWN_MAX, Math.ceil(slowdown));
}

process.env.TIDEGATE_TEST_SLOWDOWN ??= String(measureSlowdown()); // W3
const slowdown = Number(process.env.TIDEGATE_TEST_SLOWDOWN);

/** A deadline that an idle machine never needs, on this machine. */
export const patienceMs = (idleMs: number): number => idleMs * slowdown;

/** Of a test or hook that says nothing else. */
export const TEST_MS_MAX = patienceMs(300_000);
/** Of one wait in a test (`expect.poll`, `eventually`). */
export const WAIT_MS_MAX = patienceMs(120_000);
/** A lease that a test lets lapse: as short as this machine can still renew it in time. */
export const LAPSE_MS = patienceMs(3_000);
/** A lease that no test waits for. */
export const LONG_LEASE_MS = 600_000;
