// Resource step: a queue or a topic of a setup. Both are created by name, with attributes and tags,
// and creating one again succeeds if nothing differs.

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
    exists: async (broker) => (await showAttributes(broker)).ok,
    async differs(broker) {
      const shown = await showAttributes(broker);
      if (!shown.ok) return shown.fault.message;
      const shownTags = await showTags(broker);
      if (!shownTags.ok) return shownTags.fault.message;
      const repeats = async (attribute: Texts) => (await create(broker, attribute)).ok;
      return (
        // Compare tags first: creating a topic with other tags fails for any attribute.
        firstDifference("tag", tags, shownTags.value.tags) ??
        (await attributeDifference(attributes, shown.value.attributes, repeats))
      );
    },
    async make(broker) {
      const outcome = await create(broker, attributes);
      return outcome.ok ? null : outcome.fault.message;
    },
  };
}
