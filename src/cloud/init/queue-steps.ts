// Queue steps: the queues of a set-up, dead-letter queues before those that name them.

import type { Broker } from "../../broker/engine/broker.ts";
import type { QueueInit } from "./cloud-init.ts";
import {
  attributeDifference,
  attributeTexts,
  firstDifference,
  type InitSite,
  type InitStep,
  queueArn,
} from "./init-step.ts";
import { isFifo } from "./references.ts";

export function queueSteps(queues: readonly QueueInit[], site: InitSite): InitStep[] {
  const steps = new Map(queues.map((queue, index) => [queue.name, stepFor(queue, index, site)]));
  const byName = new Map(queues.map((queue) => [queue.name, queue]));
  const ordered = new Set<InitStep>();
  for (const { name } of queues) {
    // A set-up was found to have no circles, so that every chain ends.
    const chain: string[] = [];
    for (
      let at: string | undefined = name;
      at !== undefined;
      at = byName.get(at)?.deadLetter?.queue
    ) {
      chain.push(at);
    }
    for (const each of chain.reverse()) ordered.add(steps.get(each) as InitStep);
  }
  return [...ordered];
}

function stepFor(queue: QueueInit, index: number, site: InitSite): InitStep {
  const { name, tags = {} } = queue;
  const attributes = attributesOf(queue, site);
  const create = async (broker: Broker, given: Record<string, string>) => {
    const outcome = await broker.submit("createQueue", {
      name,
      attributes: isFifo(name) ? { ...given, FifoQueue: "true" } : given,
      tags: { ...tags },
    });
    return outcome.ok ? null : outcome.fault.message;
  };
  return {
    path: `/queues/${index}`,
    label: `the queue "${name}"`,
    isThere: async (broker) => (await broker.submit("findQueue", { queue: name })).ok,
    async differs(broker) {
      const shown = await broker.submit("getQueueAttributes", { queue: name, names: ["All"] });
      if (!shown.ok) return shown.fault.message;
      const kept = await broker.submit("listQueueTags", { queue: name });
      if (!kept.ok) return kept.fault.message;
      const repeats = async (one: Record<string, string>) => (await create(broker, one)) === null;
      return (
        (await attributeDifference(attributes, shown.value.attributes, repeats)) ??
        firstDifference("tag", tags, kept.value.tags)
      );
    },
    make: (broker) => create(broker, attributes),
  };
}

function attributesOf(queue: QueueInit, site: InitSite): Record<string, string> {
  const attributes = attributeTexts(queue.attributes);
  if (queue.deadLetter !== undefined) {
    const { queue: target, maxReceiveCount } = queue.deadLetter;
    const deadLetterTargetArn = queueArn(site, target);
    attributes.RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount });
  }
  return attributes;
}
