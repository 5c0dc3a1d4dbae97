// Turns of Node's event loop: immediates run once all input of the turn has been read.

import type { Turn } from "../ports/turn.ts";

export const systemTurn: Turn = {
  afterTurn: (work) => void setImmediate(work),
};
