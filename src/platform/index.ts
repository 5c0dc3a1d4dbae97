// The exports of `tidegate/platform`: the system's clock, random source and turns, as ports.

import { systemClock } from "./system-clock.ts";
import { systemRandom } from "./system-random.ts";
import { systemTurn } from "./system-turn.ts";

/** The operating system's clock, random source and turns. */
export const systemPorts = { clock: systemClock, random: systemRandom, turn: systemTurn };
