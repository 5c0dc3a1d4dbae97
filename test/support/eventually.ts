// Eventually: waits for what another process or thread brings about, with a limit far above what it
// needs, because the machine may be busy.

import { vi } from "vitest";

const PATIENCE = { timeout: 60_000, interval: 20 };

/** Repeats `check` until it no longer throws. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, PATIENCE);
}
