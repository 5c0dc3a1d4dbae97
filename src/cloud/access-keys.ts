// Access keys: reads the keys that requests must be signed with, before anything is opened.
//   K1. Every part is checked, and an unknown field is refused: one under a misspelt name would
//       otherwise be missing without a word.
//   K2. No message has a secret or a token.

import type { AccessKey } from "../broker/wire/auth/access-key.ts";
import { userIdOf } from "../broker/wire/sqs/sender-id.ts";
import { checkIdentityPolicy } from "../core/access/check-identity-policy.ts";
import { refuseConfig } from "../core/errors.ts";
import { isObject } from "../core/is-object.ts";

/** Who may call, and with which secret. The format of a keys file. */
export interface CloudAuth {
  readonly keys: readonly CloudKey[];
}

export interface CloudKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** 12 digits. */
  readonly account: string;
  /** The token that requests must have beside the signature. */
  readonly sessionToken?: string;
  /**
   * ARN of a user, role or session in the account. Default: a user with policies is named after its
   * key; without policies it is the root user of the account.
   */
  readonly principal?: string;
  /** Policies of the user or role, documents of IAM. A root user has none and may do everything. */
  readonly policies?: readonly (string | object)[];
}

const FIELDS = [
  "accessKeyId",
  "secretAccessKey",
  "account",
  "sessionToken",
  "principal",
  "policies",
];
const PRINCIPAL =
  /^arn:aws:(?:iam::(\d{12}):(?:root|(?:user|role)\/[\w+=,.@/-]+)|sts::(\d{12}):assumed-role\/[\w+=,.@-]+\/[\w+=,.@-]+)$/;

/** The keys by their ids; throws one sentence on a value that is not a list of keys. */
export function readAccessKeys(value: unknown): ReadonlyMap<string, AccessKey> {
  if (!isObject(value) || !Array.isArray(value.keys)) {
    invalid('expected an object with a list "keys"');
  }
  const unknown = Object.keys(value).find((name) => name !== "keys");
  if (unknown !== undefined) invalid(`unknown field "${unknown}"; expected "keys"`);
  if (value.keys.length === 0) invalid('"keys" is empty, so every request would be refused');
  const keys = new Map<string, AccessKey>();
  value.keys.forEach((item: unknown, index) => {
    const key = readKey(item, `keys[${index}]`);
    if (keys.has(key.accessKeyId)) {
      invalid(`keys[${index}]: the accessKeyId "${key.accessKeyId}" is there twice`);
    }
    keys.set(key.accessKeyId, key);
  });
  return keys;
}

function readKey(item: unknown, location: string): AccessKey {
  if (!isObject(item)) invalid(`${location}: expected an object`);
  const unknown = Object.keys(item).find((name) => !FIELDS.includes(name)); // K1
  if (unknown !== undefined) {
    invalid(`${location}: unknown field "${unknown}"; expected ${FIELDS.join(", ")}`);
  }
  const accessKeyId = text(item, "accessKeyId", location);
  const secretAccessKey = text(item, "secretAccessKey", location);
  const account = text(item, "account", location);
  if (!/^[\w-]{1,128}$/.test(accessKeyId)) {
    invalid(`${location}: accessKeyId must be 1 to 128 letters, digits, "_" or "-"`);
  }
  if (!/^\d{12}$/.test(account)) invalid(`${location}: account "${account}" is not 12 digits`);
  const policies = readPolicies(item.policies, location);
  const own = policies === null ? "root" : `user/${accessKeyId}`;
  const arn = optional(item, "principal", location) ?? `arn:aws:iam::${account}:${own}`;
  const match = PRINCIPAL.exec(arn);
  if (match === null || (match[1] ?? match[2]) !== account) {
    const example = `arn:aws:iam::${account}:role/NAME`;
    invalid(`${location}: principal "${arn}" is not a user or role such as ${example}`);
  }
  if (arn.endsWith(":root") !== (policies === null)) {
    invalid(
      policies === null
        ? `${location}: the field "policies" is missing; a user or role without any may do nothing: []`
        : `${location}: a root user has no policies; name a user or role as principal`,
    );
  }
  const caller = { userId: userIdOf(arn), account, arn, principal: { arn }, policies };
  return {
    accessKeyId,
    secretAccessKey,
    sessionToken: optional(item, "sessionToken", location) ?? null,
    caller,
  };
}

function readPolicies(value: unknown, location: string): readonly string[] | null {
  if (value === undefined) return null;
  if (!Array.isArray(value)) return invalid(`${location}: policies is not a list`);
  return value.map((item: unknown, index) => {
    const name = `${location}: policies[${index}]`;
    const document = typeof item === "string" ? parsed(item, name) : item;
    const reason = checkIdentityPolicy(document);
    return reason === null ? JSON.stringify(document) : invalid(`${name}: ${reason}`);
  });
}

function parsed(policy: string, name: string): unknown {
  try {
    return JSON.parse(policy);
  } catch {
    return invalid(`${name}: is not valid JSON`);
  }
}

function text(item: Readonly<Record<string, unknown>>, name: string, location: string): string {
  const value = optional(item, name, location);
  if (value === undefined) invalid(`${location}: the field "${name}" is missing`);
  return value;
}

function optional(
  item: Readonly<Record<string, unknown>>,
  name: string,
  location: string,
): string | undefined {
  const value = item[name];
  if (value === undefined) return undefined;
  if (typeof value === "string" && value !== "") return value;
  invalid(`${location}: the field "${name}" is not a text`); // K2
}

function invalid(reason: string): never {
  return refuseConfig(`auth: ${reason}`);
}
