// System ports: the operating system's clock, random numbers and turns.

import { systemClock } from "./system-clock.ts";
import { systemRandom } from "./system-random.ts";
import { systemTurn } from "./system-turn.ts";

export const systemPorts = { clock: systemClock, random: systemRandom, turn: systemTurn };
