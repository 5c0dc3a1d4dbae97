// SetupStep: one resource of a setup, which is compared if it exists and created if not.
//   T1. `differs` changes nothing; `make` runs only if the resource does not exist.

import type { Broker } from "../../broker/engine/broker.ts";
import { canonicalJson } from "../../core/encoding/canonical-json.ts";
import type { AttributeValue, AttributeValues } from "./cloud-setup.ts";

export interface SetupStep {
  /** JSON pointer into the setup. */
  readonly path: string;
  /** Names the resource in messages: `the queue "orders"`. */
  readonly label: string;
  exists(broker: Broker): Promise<boolean>;
  /** How the existing resource differs from the setup, or null. */
  differs(broker: Broker): Promise<string | null>;
  /** Why the resource could not be created, or null. */
  make(broker: Broker): Promise<string | null>;
}

/** The values that a setup needs to build ARNs and links. */
export interface SetupContext {
  readonly account: string;
  readonly region: string;
  /** Scheme, host and port, for links in notifications. */
  readonly origin: string;
  readonly s3EventVersion: string;
  readonly eventBridgeQueue: string | null;
  readonly newId: () => string;
}

export function setupQueueArn({ region, account }: SetupContext, name: string): string {
  return `arn:aws:sqs:${region}:${account}:${name}`;
}

export function setupTopicArn({ region, account }: SetupContext, name: string): string {
  return `arn:aws:sns:${region}:${account}:${name}`;
}

export function attributeText(value: AttributeValue): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function attributeTexts(values: AttributeValues = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, attributeText(value)]),
  );
}

/** Whether two attribute values are equal as text, or as JSON regardless of order and spacing. */
export function sameText(a: string | undefined, b: string): boolean {
  if (a === b) return true;
  if (a === undefined) return false;
  try {
    return canonicalJson(JSON.parse(a)) === canonicalJson(JSON.parse(b));
  } catch {
    return false;
  }
}

/** The first name in `wanted` whose value differs in `current`, as a message; null if none does. */
export function firstDifference(
  what: string,
  wanted: Readonly<Record<string, string>>,
  current: Readonly<Record<string, string | undefined>>,
): string | null {
  for (const [name, value] of Object.entries(wanted)) {
    if (sameText(current[name], value)) continue;
    const shown = current[name] === undefined ? "not set" : JSON.stringify(current[name]);
    return `its ${what} ${name} is ${shown}, not ${JSON.stringify(value)}`;
  }
  return null;
}

/**
 * The first attribute of `wanted` that differs, as a message. `repeats` asks the broker whether
 * creating the resource with one attribute succeeds: the broker knows which values are equivalent,
 * for example numbers and completed policies.
 */
export async function attributeDifference(
  wanted: Readonly<Record<string, string>>,
  current: Readonly<Record<string, string | undefined>>,
  repeats: (attribute: Record<string, string>) => Promise<boolean>,
): Promise<string | null> {
  for (const [name, value] of Object.entries(wanted)) {
    const difference = firstDifference("attribute", { [name]: value }, current);
    if (difference !== null && !(await repeats({ [name]: value }))) return difference;
  }
  return null;
}
