// Eventually: waits for what another process or thread brings about.

import { vi } from "vitest";
import { WAIT_MS_MAX } from "./patience.ts";

/** Repeats `check` until it no longer throws. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: WAIT_MS_MAX, interval: 20 });
}
