// Preparing a set-up: read and rehearsed before a store is opened or a port taken.

import { createBroker } from "../../broker/engine/create-broker.ts";
import { systemClock } from "../../platform/system-clock.ts";
import { systemRandom } from "../../platform/system-random.ts";
import { systemTurn } from "../../platform/system-turn.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";
import { readInit, rehearseInit } from "./apply-setup.ts";
import type { CloudInit } from "./cloud-setup.ts";
import type { InitSite } from "./setup-step.ts";

export interface InitSettings extends Omit<InitSite, "origin" | "newId"> {
  readonly enforcePolicies: boolean;
}

/** The set-up, known to be one that a broker takes; else a failure that tells why not. */
export async function prepareInit(value: unknown, settings: InitSettings): Promise<CloudInit> {
  const init = readInit(value);
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
    await rehearseInit(init, initSite(settings, "http://localhost"), scratch);
  } finally {
    await scratch.close();
  }
  return init;
}

export function initSite(settings: InitSettings, origin: string): InitSite {
  return { ...settings, origin, newId: () => systemRandom.uuid() };
}
