// The machine's chance. Forks are the same source: nothing about it can be told again anyway.

import { randomBytes, randomInt, randomUUID } from "node:crypto";
import type { Random } from "../ports/random.ts";

/** The widest draw that the platform gives in one piece. */
const DRAW_BELOW_MAX = 2 ** 48 - 1;

export const systemRandom: Random = {
  fraction: () => randomInt(DRAW_BELOW_MAX) / DRAW_BELOW_MAX,
  below: (below) => randomInt(below),
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
  fork: () => systemRandom,
};
