// Applying a setup: validate it, rehearse it, compare it with existing resources, then create.
//   A1. Nothing is created unless everything can be: the rehearsal creates all of it on an empty
//       in-memory broker, which refuses what the real broker would refuse.
//   A2. Existing resources are not changed. If one differs from the setup, nothing is created.
//   A3. Applying a setup again changes nothing; after an interruption it continues.

import type { Broker } from "../../broker/engine/broker.ts";
import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { TidegateError } from "../../core/errors.ts";
import type { Problem } from "../../core/events/problem.ts";
import { bucketSteps } from "./bucket-steps.ts";
import type { CloudSetup } from "./cloud-setup.ts";
import { queueSteps } from "./queue-steps.ts";
import type { SetupContext, SetupStep } from "./setup-step.ts";
import { RefusedResources, rehearsablePart } from "./sound-part.ts";
import { subscriptionSteps, topicSteps } from "./topic-steps.ts";
import { validateCloudSetup } from "./validate-setup.ts";

/**
 * Validates a value as a setup and rehearses it on `scratch`, an empty broker (A1). Throws an error
 * that lists all problems: those of the file, and what a broker would refuse of the rest.
 */
export async function checkSetup(
  value: unknown,
  context: SetupContext,
  scratch: Broker,
): Promise<CloudSetup> {
  const checked = validateCloudSetup(value as JsonValue);
  const problems = checked.kind === "valid" ? [] : [...checked.problems];
  const part = rehearsablePart(value as JsonValue, problems);
  const refused = new RefusedResources(part.setup);
  for (const step of stepsOf(part.setup, context)) {
    if (refused.affects(step.path)) continue;
    const reason = await step.make(scratch);
    if (reason === null) continue;
    refused.add(step.path);
    problems.push({ path: part.wholePath(step.path), reason: `is refused: ${reason}` });
  }
  if (problems.length > 0) throw invalidSetup(problems);
  return value as CloudSetup;
}

export async function applySetup(
  setup: CloudSetup,
  context: SetupContext,
  broker: Broker,
): Promise<void> {
  const missing: SetupStep[] = [];
  const conflicts: string[] = [];
  for (const step of stepsOf(setup, context)) {
    if (!(await step.exists(broker))) {
      missing.push(step);
      continue;
    }
    const difference = await step.differs(broker);
    if (difference !== null) conflicts.push(`${step.path}: ${step.label} differs: ${difference}`);
  }
  if (conflicts.length > 0) throw conflict(conflicts); // A2
  for (const step of missing) {
    const reason = await step.make(broker); // A3
    if (reason !== null) throw conflict([`${step.path}: ${step.label} is refused: ${reason}`]);
  }
}

function stepsOf(setup: CloudSetup, context: SetupContext): SetupStep[] {
  return [
    ...queueSteps(setup.queues ?? [], context),
    ...topicSteps(setup.topics ?? []),
    ...subscriptionSteps(setup.subscriptions ?? [], context),
    ...bucketSteps(setup.buckets ?? [], context),
  ];
}

function invalidSetup(problems: readonly Problem[]): TidegateError {
  const lines = problems.map(({ path, reason }) => `  ${path === "" ? "/" : path} ${reason}`);
  const message = `the setup is invalid and was not applied:\n${lines.join("\n")}`;
  return new TidegateError("TG_CONFIG_INVALID", message);
}

function conflict(lines: readonly string[]): TidegateError {
  const message = "the setup conflicts with existing resources:";
  return new TidegateError(
    "TG_SETUP_CONFLICT",
    `${message}\n${lines.map((l) => `  ${l}`).join("\n")}`,
  );
}
