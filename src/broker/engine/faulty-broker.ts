// Disturbed broker: a broker to those who call it in their own process, with the faults that were
// asked for. Over HTTP the wire does the same for whole actions, of which one may be several
// operations; it marks those as parts.
//   B1. A dropped acknowledgement is a rejection with a code of its own.
//   B2. What names no queue, topic or bucket is never hit.

import type { OperationName } from "../model/operations.ts";
import type { Broker } from "./broker.ts";
import { type FaultTargetRequest, injectFaults } from "./fault-injection.ts";

/** Operations that serve AWS's actions under other names than their own: alone, or as a batch. */
const ACTIONS: Partial<Record<OperationName, readonly [single: string, batch: string]>> = {
  send: ["SendMessage", "SendMessageBatch"],
  receive: ["ReceiveMessage", "ReceiveMessage"],
  delete: ["DeleteMessage", "DeleteMessageBatch"],
  changeVisibility: ["ChangeMessageVisibility", "ChangeMessageVisibilityBatch"],
  publish: ["Publish", "PublishBatch"],
  findObject: ["GetObject", "HeadObject"],
};

export function createFaultyBroker(broker: Broker): Broker {
  const submit: Broker["submit"] = (name, input, signal, part = false) => {
    const run = () => broker.submit(name, input, signal);
    if (part || !broker.faults.active) return run();
    const aim = aimAt(name, (input ?? {}) as Record<string, unknown>);
    if (aim === null) return run();
    return injectFaults(broker.faults, aim, run as never) as ReturnType<typeof run>; // B1
  };
  return replaceSubmit(broker, submit);
}

/** The broker to the wire, which considers faults for whole actions. */
export function brokerOfActions(broker: Broker): Broker {
  return replaceSubmit(broker, (name, input, signal) => broker.submit(name, input, signal, true));
}

/** All else is the broker's own, as it is at the time. */
function replaceSubmit(broker: Broker, submit: Broker["submit"]): Broker {
  return Object.assign(Object.create(broker) as Broker, { submit });
}

function aimAt(
  operation: OperationName,
  input: Record<string, unknown>,
): FaultTargetRequest | null {
  const actions = actionsOf(operation, input.batch);
  for (const service of ["queue", "topic", "bucket"] as const) {
    const name = input[service];
    if (typeof name === "string") return { service, name, actions };
  }
  return null; // B2
}

function actionsOf(operation: OperationName, batch: unknown): readonly string[] {
  const names = ACTIONS[operation];
  if (names === undefined) return [`${operation.charAt(0).toUpperCase()}${operation.slice(1)}`];
  if (batch === undefined) return names;
  return [batch === true ? names[1] : names[0]];
}
