// The operating system's random source. Forks share it, because it is not reproducible anyway.

import { randomBytes, randomInt, randomUUID } from "node:crypto";
import type { Random } from "../ports/random.ts";

/** The largest range of one randomInt() call. */
const DRAW_BELOW_MAX = 2 ** 48 - 1;

export const systemRandom: Random = {
  fraction: () => randomInt(DRAW_BELOW_MAX) / DRAW_BELOW_MAX,
  below: (below) => randomInt(below),
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
  fork: () => systemRandom,
};
