// InitStep: one resource of a set-up, to be found as it should be, or made.
//   T1. `differs` changes nothing; `make` runs only where nothing is there yet.

import type { Broker } from "../../broker/engine/broker.ts";
import { canonicalJson } from "../../core/encoding/canonical-json.ts";
import type { AttributeValue, AttributeValues } from "./cloud-setup.ts";

export interface SetupStep {
  /** JSON pointer into the set-up. */
  readonly path: string;
  /** What it is, for messages: `the queue "orders"`. */
  readonly label: string;
  isThere(broker: Broker): Promise<boolean>;
  /** Why what is there is not what the set-up says, or null. */
  differs(broker: Broker): Promise<string | null>;
  /** Why it could not be made, or null. */
  make(broker: Broker): Promise<string | null>;
}

/** Where a set-up is applied: what ARNs and links are made of. */
export interface SetupContext {
  readonly account: string;
  readonly region: string;
  /** Scheme, host and port, for links in what topics send. */
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

/** Whether two attributes say the same: as texts, or as JSON however it is spaced and ordered. */
export function sameText(a: string | undefined, b: string): boolean {
  if (a === b) return true;
  if (a === undefined) return false;
  try {
    return canonicalJson(JSON.parse(a)) === canonicalJson(JSON.parse(b));
  } catch {
    return false;
  }
}

/** What stands in the way of `wanted`, where only the names in it are looked at. */
export function firstDifference(
  what: string,
  wanted: Readonly<Record<string, string>>,
  found: Readonly<Record<string, string | undefined>>,
): string | null {
  for (const [name, value] of Object.entries(wanted)) {
    if (sameText(found[name], value)) continue;
    const shown = found[name] === undefined ? "not set" : JSON.stringify(found[name]);
    return `its ${what} ${name} is ${shown}, not ${JSON.stringify(value)}`;
  }
  return null;
}

/**
 * What stands in the way of `wanted`, one attribute after the other. `repeats` asks the broker, to
 * which creating what is there with an attribute that it has is nothing new: it knows which numbers
 * are the same, and how policies are completed.
 */
export async function attributeDifference(
  wanted: Readonly<Record<string, string>>,
  found: Readonly<Record<string, string | undefined>>,
  repeats: (attribute: Record<string, string>) => Promise<boolean>,
): Promise<string | null> {
  for (const [name, value] of Object.entries(wanted)) {
    const difference = firstDifference("attribute", { [name]: value }, found);
    if (difference !== null && !(await repeats({ [name]: value }))) return difference;
  }
  return null;
}
