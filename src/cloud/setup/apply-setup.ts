// Applying a set-up: checked as a whole, rehearsed, compared with what is there, only then done.
//   A1. Nothing is done unless everything in it can be: the rehearsal makes all of it on an empty
//       broker in memory, whose refusals are the ones that the real one would give.
//   A2. What is there already is left as it is. If it is not what the set-up says, nothing else is
//       done either.
//   A3. Applied again, it changes nothing; cut short, it goes on where it was.

import type { Broker } from "../../broker/engine/broker.ts";
import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { TidegateError } from "../../core/errors.ts";
import type { Problem } from "../../core/events/problem.ts";
import { bucketSteps } from "./bucket-steps.ts";
import type { CloudSetup } from "./cloud-setup.ts";
import { queueSteps } from "./queue-steps.ts";
import type { SetupContext, SetupStep } from "./setup-step.ts";
import { subscriptionSteps, topicSteps } from "./topic-steps.ts";
import { validateCloudSetup } from "./validate-setup.ts";

/** The set-up in a value from outside, or a failure that tells all that is wrong with it. */
export function readSetup(value: unknown): CloudSetup {
  const checked = validateCloudSetup(value as JsonValue);
  if (checked.kind === "valid") return checked.value;
  throw invalidInit(checked.problems);
}

/** Finds out what the broker would refuse, on one that nobody uses (A1). */
export async function rehearseSetup(
  setup: CloudSetup,
  site: SetupContext,
  scratch: Broker,
): Promise<void> {
  const problems: Problem[] = [];
  for (const step of stepsOf(setup, site)) {
    const reason = await step.make(scratch);
    if (reason !== null) problems.push({ path: step.path, reason: `is refused: ${reason}` });
  }
  if (problems.length > 0) throw invalidInit(problems);
}

export async function applySetup(
  setup: CloudSetup,
  site: SetupContext,
  broker: Broker,
): Promise<void> {
  const missing: SetupStep[] = [];
  const conflicts: string[] = [];
  for (const step of stepsOf(setup, site)) {
    if (!(await step.isThere(broker))) {
      missing.push(step);
      continue;
    }
    const difference = await step.differs(broker);
    if (difference !== null) conflicts.push(`${step.path}: ${step.label} differs: ${difference}.`);
  }
  if (conflicts.length > 0) throw conflict(conflicts); // A2
  for (const step of missing) {
    const reason = await step.make(broker); // A3
    if (reason !== null) throw conflict([`${step.path}: ${step.label} is refused: ${reason}`]);
  }
}

function stepsOf(setup: CloudSetup, site: SetupContext): SetupStep[] {
  return [
    ...queueSteps(setup.queues ?? [], site),
    ...topicSteps(setup.topics ?? []),
    ...subscriptionSteps(setup.subscriptions ?? [], site),
    ...bucketSteps(setup.buckets ?? [], site),
  ];
}

function invalidInit(problems: readonly Problem[]): TidegateError {
  const lines = problems.map(({ path, reason }) => `  ${path === "" ? "/" : path} ${reason}`);
  const message = `The set-up cannot be applied, and nothing of it was:\n${lines.join("\n")}`;
  return new TidegateError("TG_CONFIG_INVALID", message);
}

function conflict(lines: readonly string[]): TidegateError {
  const message = "The set-up and what is there do not agree:";
  return new TidegateError(
    "TG_SETUP_CONFLICT",
    `${message}\n${lines.map((l) => `  ${l}`).join("\n")}`,
  );
}
