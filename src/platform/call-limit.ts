// Call limit: ends synchronous code with the watchdog of node:vm.
//   V1. The code runs in this context, as always; only its call goes through a script, because
//       Node limits the time of scripts and of nothing else.

import { Script } from "node:vm";
import type { CallLimit } from "../ports/call-limit.ts";

const SLOT = Symbol.for("tidegate.limited-call");
const script = new Script('globalThis[Symbol.for("tidegate.limited-call")]()');

export const systemCallLimit: CallLimit = {
  run(limitMs, work) {
    const slots = globalThis as { [SLOT]?: (() => unknown) | undefined };
    slots[SLOT] = work; // V1
    try {
      return script.runInThisContext({ timeout: limitMs }) as ReturnType<typeof work>;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      return "too-long";
    } finally {
      slots[SLOT] = undefined;
    }
  },
};
