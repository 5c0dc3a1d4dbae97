// Preparing a set-up: read and rehearsed before a store is opened or a port taken.

import { createBroker } from "../../broker/engine/create-broker.ts";
import { systemClock } from "../../platform/system-clock.ts";
import { systemRandom } from "../../platform/system-random.ts";
import { systemTurn } from "../../platform/system-turn.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";
import { readSetup, rehearseSetup } from "./apply-setup.ts";
import type { CloudSetup } from "./cloud-setup.ts";
import type { SetupContext } from "./setup-step.ts";

export interface SetupSettings extends Omit<SetupContext, "origin" | "newId"> {
  readonly enforcePolicies: boolean;
}

/** The set-up, known to be one that a broker takes; else a failure that tells why not. */
export async function prepareSetup(value: unknown, settings: SetupSettings): Promise<CloudSetup> {
  const setup = readSetup(value);
  const post = () => Promise.reject(new Error("A rehearsal calls nobody."));
  const scratch = await createBroker(
    {
      store: createMemoryBrokerStore(),
      clock: systemClock,
      random: systemRandom,
      turn: systemTurn,
      http: { post },
    },
    settings,
  );
  try {
    await rehearseSetup(setup, setupContext(settings, "http://localhost"), scratch);
  } finally {
    await scratch.close();
  }
  return setup;
}

export function setupContext(settings: SetupSettings, origin: string): SetupContext {
  return { ...settings, origin, newId: () => systemRandom.uuid() };
}
