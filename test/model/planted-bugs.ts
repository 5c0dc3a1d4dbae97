// Planted bugs: each makes the reference wrong in one way that real brokers have been wrong in.

import type { Fault } from "../../src/broker/model/fault.ts";
import type { OperationInput, OperationOutput } from "../../src/broker/model/operations.ts";
import type { Result } from "../../src/core/result.ts";
import type { PlantedBug } from "./reference/reference-broker.ts";
import type { RefMessage, RefQueue, RefWorld } from "./reference/state.ts";

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function everyMessage(world: RefWorld, work: (message: Writable<RefMessage>) => void): void {
  for (const queue of world.queues) for (const message of queue.messages) work(message);
}

/** Gives each FIFO message a group of its own for one receive, so that none blocks another. */
function looseGroups(): PlantedBug {
  return {
    beforeStep: (world, name) => {
      if (name !== "receive") return;
      everyMessage(world, (message) => {
        if (message.groupId !== null) message.groupId += `#${message.serial}`;
      });
    },
    afterStep: (world, name, outcome) => {
      if (name !== "receive") return;
      const restore = (message: { groupId: string | null }) => {
        message.groupId = message.groupId?.split("#")[0] ?? null;
      };
      everyMessage(world, restore);
      const answer = outcome as Result<OperationOutput<"receive">, Fault>;
      if (answer.ok) answer.value.deliveries.forEach(restore);
    },
  };
}

/** Does the work on the queue of the input, once a step of that name is over. */
function after(name: string, work: (queue: RefQueue) => void): PlantedBug {
  return {
    afterStep: (world, each) => {
      if (each === name) world.queues.forEach(work);
    },
  };
}

function keepDedupsOverPurge(): PlantedBug {
  const remaining = new Map<string, RefQueue["dedups"]>();
  return {
    beforeStep: (world, name) => {
      if (name === "purgeQueue")
        for (const queue of world.queues) remaining.set(queue.name, queue.dedups);
    },
    ...after("purgeQueue", (queue) => {
      queue.dedups = remaining.get(queue.name) ?? [];
    }),
  };
}

function deleteByOldHandle(): PlantedBug {
  return {
    beforeStep: (world, name, input) => {
      if (name !== "delete") return;
      for (const handle of (input as OperationInput<"delete">).handles) {
        const existing = world.handles.find((entry) => entry.handle === handle);
        everyMessage(world, (message) => {
          if (message.serial === existing?.messageSerial) message.handle = handle;
        });
      }
    },
  };
}

function windowOneMillisecondLong(): PlantedBug {
  const touched = new Set<string>();
  return after("send", (queue) => {
    queue.dedups = queue.dedups.map((entry) => {
      if (touched.has(entry.messageId)) return entry;
      touched.add(entry.messageId);
      return { ...entry, acceptedAt: entry.acceptedAt + 1 };
    });
  });
}

/** By what is wrong. Each value makes a fresh bug, as some of them remember things. */
export const PLANTED_BUGS: Record<string, () => PlantedBug> = {
  "the dedup window is forgotten on restart": () => ({
    onStart: (world) =>
      world.queues.forEach((queue) => {
        queue.dedups = [];
      }),
  }),
  "receive counts are lost on restart": () => ({
    onStart: (world) =>
      everyMessage(world, (message) => {
        message.receiveCount = 0;
      }),
  }),
  "the receives of earlier queues count on after a restart": () => ({
    onStart: (world) =>
      everyMessage(world, (message) => {
        message.arrivalCount = 0;
      }),
  }),
  "visibility deadlines are lost on restart": () => ({
    onStart: (world) =>
      everyMessage(world, (message) => {
        message.dueAt = 0;
      }),
  }),
  "the purge guard is forgotten on restart": () => ({
    onStart: (world) =>
      world.queues.forEach((queue) => {
        queue.purgedAt = null;
      }),
  }),
  "receive attempts are forgotten on restart": () => ({
    onStart: (world) =>
      world.queues.forEach((queue) => {
        queue.attempts = [];
      }),
  }),
  "sequence numbers start over on restart": () => ({
    choices: (plain) => {
      let last = 0;
      return {
        ...plain,
        sent: (queue, index) => {
          const sent = plain.sent(queue, index);
          last += 1;
          const sequenceNumber = String(last).padStart(20, "0");
          return sent.sequenceNumber === null ? sent : { ...sent, sequenceNumber };
        },
      };
    },
  }),
  "an answer goes out before it is durable": () => ({ answersEarly: true }),
  "a group is not blocked by its message in flight": looseGroups,
  "the dead-letter move loses the message": () =>
    after("receive", (queue) => {
      queue.messages = queue.messages.filter((each) => each.sourceArn === null || each.handle);
    }),
  "the dead letter forgets its receive count": () =>
    after("receive", (queue) => {
      for (const each of queue.messages) {
        if (each.sourceArn !== null && each.handle === null) each.receiveCount = 0;
      }
    }),
  "a receive without a timeout does not count": () =>
    after("receive", (queue) => {
      for (const each of queue.messages) if (each.dueAt === each.receivedAt) each.receiveCount -= 1;
    }),
  "a message that comes back goes to the end of its group": () =>
    after("changeVisibility", (queue) => {
      const back = queue.messages.filter((each) => each.receiveCount > 0);
      queue.messages = [...queue.messages.filter((each) => each.receiveCount === 0), ...back];
    }),
  "an old handle deletes what somebody else holds": deleteByOldHandle,
  "a purge keeps the dedup window": keepDedupsOverPurge,
  "the dedup window is a millisecond too long": windowOneMillisecondLong,
  "a waiting receive never wakes": () => ({ neverWakes: true }),
  "an aborted receive takes a message": () => ({ abortTakes: true }),
  "tags are lost on restart": () => ({
    onStart: (world) =>
      world.queues.forEach((queue) => {
        queue.tags = {};
      }),
  }),
};
