// TopicPolicy: how large the access policy of a topic may be.
//   L1. AWS's limits apply whichever way a policy grows: set as a whole, or statement by statement.
//   L2. A policy that nests too deep could not be serialised again, so it is refused.

import { utf8ByteLength } from "../../../core/encoding/text.ts";
import { SNS_POLICY_BYTES_MAX, SNS_POLICY_STATEMENTS_MAX } from "../../../core/limits.ts";
import { parseObject } from "../sqs/redrive-policy.ts";

/** Our limit: no real policy comes near it (L2). */
const DEPTH_MAX = 32;

/** The reason to refuse the text of a policy, or null. */
export function checkTopicPolicy(text: string): string | null {
  if (utf8ByteLength(text) > SNS_POLICY_BYTES_MAX) {
    return `Policy Error: longer than ${SNS_POLICY_BYTES_MAX} bytes`; // L1
  }
  const policy = parseObject(text);
  if (policy === null || isDeeperThan(policy, DEPTH_MAX)) return "Policy Error: null"; // L2
  const count = statementsOf(policy).length;
  if (count <= SNS_POLICY_STATEMENTS_MAX) return null;
  return `Policy Error: ${count} statements, and ${SNS_POLICY_STATEMENTS_MAX} are allowed`; // L1
}

/** The statements of a policy; the owner may have written anything there. */
export function statementsOf(policy: { readonly Statement?: unknown }): readonly unknown[] {
  const given = policy.Statement ?? [];
  return Array.isArray(given) ? given : [given];
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}
