// Planted bugs: each gives the reference one defect that real brokers have had.

import type { Fault } from "../../src/broker/model/fault.ts";
import type { OperationInput, OperationOutput } from "../../src/broker/model/operations.ts";
import type { Result } from "../../src/core/result.ts";
import type { PlantedBug } from "./reference/reference-broker.ts";
import type { RefMessage, RefQueue, RefWorld } from "./reference/state.ts";

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function everyMessage(world: RefWorld, work: (message: Writable<RefMessage>) => void): void {
  for (const queue of world.queues) for (const message of queue.messages) work(message);
}

/** Puts each FIFO message into a separate group for one receive, so that none blocks another. */
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

/** Lets the deleted handles point at nothing, unless they are the latest of their message. */
function ignoreEarlierHandles(): PlantedBug {
  return {
    beforeStep: (world, name, input) => {
      if (name !== "delete") return;
      const { handles } = input as OperationInput<"delete">;
      const messages = world.queues.flatMap((queue) => queue.messages);
      const isLatest = (handle: string) => messages.some((each) => each.handle === handle);
      world.handles = world.handles.map((entry) =>
        handles.includes(entry.handle) && !isLatest(entry.handle)
          ? { ...entry, messageSerial: -1 }
          : entry,
      );
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

/** Named by the defect. Each value creates a fresh bug, because some of them have state. */
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
  "receives from earlier queues are counted again after a restart": () => ({
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
  "a response is sent before its change is durable": () => ({ answersEarly: true }),
  "a group is not blocked by its message in flight": looseGroups,
  "the dead-letter move loses the message": () =>
    after("receive", (queue) => {
      queue.messages = queue.messages.filter((each) => each.sourceArn === null || each.handle);
    }),
  "a dead letter loses its receive count": () =>
    after("receive", (queue) => {
      for (const each of queue.messages) {
        if (each.sourceArn !== null && each.handle === null) each.receiveCount = 0;
      }
    }),
  "a receive with a visibility timeout of zero is not counted": () =>
    after("receive", (queue) => {
      for (const each of queue.messages) if (each.dueAt === each.receivedAt) each.receiveCount -= 1;
    }),
  "a returned message goes to the end of its group": () =>
    after("changeVisibility", (queue) => {
      const back = queue.messages.filter((each) => each.receiveCount > 0);
      queue.messages = [...queue.messages.filter((each) => each.receiveCount === 0), ...back];
    }),
  "an earlier handle of a message no longer deletes it": ignoreEarlierHandles,
  "a purge keeps the dedup window": keepDedupsOverPurge,
  "the dedup window is a millisecond too long": windowOneMillisecondLong,
  "a waiting receive never wakes": () => ({ neverWakes: true }),
  "an aborted receive still consumes a message": () => ({ abortTakes: true }),
  "tags are lost on restart": () => ({
    onStart: (world) =>
      world.queues.forEach((queue) => {
        queue.tags = {};
      }),
  }),
};
