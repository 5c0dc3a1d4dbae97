// Real ports: the operating system's clock, randomness and event-loop turn, for tests of stores and
// processes outside this one.

export { systemClock } from "../../../src/platform/system-clock.ts";
export { systemRandom as random } from "../../../src/platform/system-random.ts";
export { systemTurn as turn } from "../../../src/platform/system-turn.ts";
