// What `tidegate/platform` exports: the machine's own clock, chance and turn, for ports.

import { systemClock } from "./system-clock.ts";
import { systemRandom } from "./system-random.ts";
import { systemTurn } from "./system-turn.ts";

/** Time, chance and turns as this machine has them. */
export const systemPorts = { clock: systemClock, random: systemRandom, turn: systemTurn };
