// Resource step: a queue or a topic of a set-up, which are made alike: by name, with attributes and
// tags, and a second time without harm as long as nothing differs.

import type { Broker } from "../../broker/engine/broker.ts";
import type { Fault } from "../../broker/model/fault.ts";
import type { Result } from "../../core/result.ts";
import { attributeDifference, firstDifference, type SetupStep } from "./setup-step.ts";

type Texts = Readonly<Record<string, string>>;

export interface Resource {
  readonly path: string;
  readonly label: string;
  readonly attributes: Texts;
  readonly tags: Texts;
  create(broker: Broker, attributes: Texts): Promise<Result<unknown, Fault>>;
  showAttributes(broker: Broker): Promise<Result<{ readonly attributes: Texts }, Fault>>;
  showTags(broker: Broker): Promise<Result<{ readonly tags: Texts }, Fault>>;
}

export function resourceStep(resource: Resource): SetupStep {
  const { path, label, attributes, tags, create, showAttributes, showTags } = resource;
  return {
    path,
    label,
    isThere: async (broker) => (await showAttributes(broker)).ok,
    async differs(broker) {
      const shown = await showAttributes(broker);
      if (!shown.ok) return shown.fault.message;
      const kept = await showTags(broker);
      if (!kept.ok) return kept.fault.message;
      const repeats = async (one: Texts) => (await create(broker, one)).ok;
      return (
        // Tags come first: to a topic with other tags, no attribute would be a repetition.
        firstDifference("tag", tags, kept.value.tags) ??
        (await attributeDifference(attributes, shown.value.attributes, repeats))
      );
    },
    async make(broker) {
      const outcome = await create(broker, attributes);
      return outcome.ok ? null : outcome.fault.message;
    },
  };
}
