// Preparing a setup: validates and rehearses it before a store is opened or a port is bound.

import { createBroker } from "../../broker/engine/create-broker.ts";
import { systemClock } from "../../platform/system-clock.ts";
import { systemRandom } from "../../platform/system-random.ts";
import { systemTurn } from "../../platform/system-turn.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";
import { checkSetup } from "./apply-setup.ts";
import type { CloudSetup } from "./cloud-setup.ts";
import type { SetupContext } from "./setup-step.ts";

export interface SetupSettings extends Omit<SetupContext, "origin" | "newId"> {
  readonly enforcePolicies: boolean;
}

/** Returns a setup that a broker accepts; throws an error that lists the problems otherwise. */
export async function prepareSetup(value: unknown, settings: SetupSettings): Promise<CloudSetup> {
  const post = () => Promise.reject(new Error("a rehearsal does not call HTTP endpoints"));
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
    return await checkSetup(value, setupContext(settings, "http://localhost"), scratch);
  } finally {
    await scratch.close();
  }
}

export function setupContext(settings: SetupSettings, origin: string): SetupContext {
  return { ...settings, origin, newId: () => systemRandom.uuid() };
}
