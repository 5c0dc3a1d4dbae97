// Permissions: AddPermission and RemovePermission edit the statements of the queue's policy.
// Policies restrict deliveries of topics and buckets if enforcement is on, and callers if there are
// keys.

import { utf8ByteLength } from "../../../core/encoding/text.ts";
import { SQS_PERMISSION_ACTIONS_MAX, SQS_POLICY_BYTES_MAX } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { BrokerState } from "../broker-state.ts";
import { type Fault, refuse } from "../fault.ts";
import type { OperationInput } from "../operations.ts";
import type { ModelStep } from "../step.ts";
import type { QueueState } from "./queue.ts";
import { invalidValue, missingQueue } from "./queue-faults.ts";

interface Statement {
  readonly Sid?: string;
}

interface Policy {
  readonly Version: string;
  readonly Id?: string;
  /** The owner may have written anything here, null included. */
  readonly Statement: readonly (Statement | null)[];
}

const ACTIONS = new Set([
  "*",
  "ChangeMessageVisibility",
  "DeleteMessage",
  "GetQueueAttributes",
  "GetQueueUrl",
  "ListDeadLetterSourceQueues",
  "PurgeQueue",
  "ReceiveMessage",
  "SendMessage",
]);

/** AWS writes a list of one as the bare element. */
function scalar<T>(values: readonly T[]): T | readonly T[] {
  return values.length === 1 ? (values[0] as T) : values;
}

function policyOf(queue: QueueState, arn: string): Policy {
  const empty: Policy = { Version: "2008-10-17", Id: `${arn}/SQSDefaultPolicy`, Statement: [] };
  const text = queue.record.attributes.Policy;
  if (text === undefined) return empty;
  const policy = JSON.parse(text) as Policy & { Statement?: Statement | Statement[] };
  const statements = policy.Statement ?? [];
  return { ...policy, Statement: Array.isArray(statements) ? statements : [statements] };
}

function save(state: BrokerState, step: ModelStep, queue: QueueState, policy: Policy): void {
  const attributes: Record<string, string> = { ...queue.record.attributes };
  if (policy.Statement.length === 0) delete attributes.Policy;
  else attributes.Policy = JSON.stringify(policy);
  state.saveRecord(queue, { ...queue.record, attributes, modifiedAt: step.now }, step);
}

export function stepAddPermission(
  state: BrokerState,
  step: ModelStep,
  input: OperationInput<"addPermission">,
): Result<null, Fault> {
  const queue = state.queues.get(input.queue);
  if (queue === undefined) return missingQueue();
  const { label, accounts, actions } = input;
  const wrongAction = actions.find((action) => !ACTIONS.has(action));
  if (wrongAction !== undefined) {
    const reason = "Only the queue owner is allowed to invoke this action.";
    return invalidValue(`SQS:${wrongAction}`, "ActionName", reason);
  }
  const wrongAccount = accounts.find((account) => !/^\d{12}$/.test(account));
  if (wrongAccount !== undefined) {
    return invalidValue(`[${wrongAccount}]`, "PrincipalId", "Unable to verify.");
  }
  if (actions.length > SQS_PERMISSION_ACTIONS_MAX) {
    const text = `${actions.length} Actions were found, maximum allowed is`;
    return refuse("OverLimit", `${text} ${SQS_PERMISSION_ACTIONS_MAX}.`);
  }
  const arn = state.arnOf(input.queue);
  const policy = policyOf(queue, arn);
  if (policy.Statement.some((statement) => statement?.Sid === label)) {
    return invalidValue(label, "Label", "Already exists.");
  }
  const statement = {
    Sid: label,
    Effect: "Allow",
    Principal: { AWS: scalar(accounts.map((account) => `arn:aws:iam::${account}:root`)) },
    Action: scalar(actions.map((action) => `SQS:${action}`)),
    Resource: arn,
  };
  const grown = { ...policy, Statement: [...policy.Statement, statement] };
  if (utf8ByteLength(JSON.stringify(grown)) > SQS_POLICY_BYTES_MAX) {
    const text = `The policy would be longer than ${SQS_POLICY_BYTES_MAX} bytes.`;
    return refuse("OverLimit", text);
  }
  save(state, step, queue, grown);
  return succeed(null);
}

export function stepRemovePermission(
  state: BrokerState,
  step: ModelStep,
  input: { queue: string; label: string },
): Result<null, Fault> {
  const queue = state.queues.get(input.queue);
  if (queue === undefined) return missingQueue();
  const policy = policyOf(queue, state.arnOf(input.queue));
  const remaining = policy.Statement.filter((statement) => statement?.Sid !== input.label);
  if (remaining.length === policy.Statement.length) {
    return invalidValue(input.label, "Label", "can't find label.");
  }
  save(state, step, queue, { ...policy, Statement: remaining });
  return succeed(null);
}
