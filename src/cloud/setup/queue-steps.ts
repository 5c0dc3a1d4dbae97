// Queue steps: the queues of a setup; dead-letter queues come before the queues that use them.

import type { QueueSetup } from "./cloud-setup.ts";
import { isFifo } from "./references.ts";
import { resourceStep } from "./resource-step.ts";
import { attributeTexts, type SetupContext, type SetupStep, setupQueueArn } from "./setup-step.ts";

export function queueSteps(queues: readonly QueueSetup[], context: SetupContext): SetupStep[] {
  const steps = new Map(queues.map((queue, index) => [queue.name, stepFor(queue, index, context)]));
  const byName = new Map(queues.map((queue) => [queue.name, queue]));
  const ordered = new Set<SetupStep>();
  for (const { name } of queues) {
    // Validation ensures that the setup has no cycles, so every chain ends.
    const chain: string[] = [];
    for (
      let at: string | undefined = name;
      at !== undefined;
      at = byName.get(at)?.deadLetter?.queue
    ) {
      chain.push(at);
    }
    for (const each of chain.reverse()) ordered.add(steps.get(each) as SetupStep);
  }
  return [...ordered];
}

function stepFor(queue: QueueSetup, index: number, context: SetupContext): SetupStep {
  const { name, tags = {} } = queue;
  return resourceStep({
    path: `/queues/${index}`,
    label: `the queue "${name}"`,
    attributes: attributesOf(queue, context),
    tags,
    create: (broker, requested) => {
      const attributes = isFifo(name) ? { ...requested, FifoQueue: "true" } : { ...requested };
      return broker.submit("createQueue", { name, attributes, tags: { ...tags } });
    },
    showAttributes: (broker) =>
      broker.submit("getQueueAttributes", { queue: name, names: ["All"] }),
    showTags: (broker) => broker.submit("listQueueTags", { queue: name }),
  });
}

function attributesOf(queue: QueueSetup, context: SetupContext): Record<string, string> {
  const attributes = attributeTexts(queue.attributes);
  if (queue.deadLetter !== undefined) {
    const { queue: target, maxReceiveCount } = queue.deadLetter;
    const deadLetterTargetArn = setupQueueArn(context, target);
    attributes.RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount });
  }
  return attributes;
}
