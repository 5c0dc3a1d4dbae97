// System defaults: fills in the ports of the operating system for users of the library.
//   D1. Only src/api does this. Inside the package these ports are required, so that the compiler
//       finds a simulated part that would read the real clock.

import type { DurationMs } from "../core/units.ts";
import { systemPorts } from "../platform/index.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { Turn } from "../ports/turn.ts";

/** Ports with defaults. Pass your own to control time or randomness in a test. */
export interface SystemPorts {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random numbers. */
  readonly random?: Random;
  /** Default: turns of the event loop. */
  readonly turn?: Turn;
}

/** The same options, with every duration a plain number of milliseconds. */
export type PlainOptions<Options> = {
  [Name in keyof Options]: Extract<Options[Name], DurationMs> extends never
    ? Options[Name]
    : number;
};

/** Ports as a part inside the package needs them, from those that a user passed. */
export function withSystemDefaults<P extends SystemPorts>(ports: P): P & Required<SystemPorts> {
  return {
    ...ports,
    clock: ports.clock ?? systemPorts.clock,
    random: ports.random ?? systemPorts.random,
    turn: ports.turn ?? systemPorts.turn,
  };
}
