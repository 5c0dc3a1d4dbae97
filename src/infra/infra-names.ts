// Infra names: which names AWS accepts for the resources of a pipeline.
//   N1. A name is never shortened silently: two pipelines could then share a resource.
//   N2. A problem names the resource, the limit and the fix, in one clause.

import { SQS_QUEUE_NAME_CHARACTERS_MAX } from "../core/limits.ts";
import { IAM_ROLES } from "./iam-table.ts";
import type { InfraPlan } from "./infra-plan.ts";

interface NameRule {
  readonly what: string;
  readonly charactersMin: number;
  readonly charactersMax: number;
  readonly pattern: RegExp;
  /** Ends the sentence "may have ...". */
  readonly allowed: string;
}

const QUEUE: NameRule = {
  what: "queue",
  charactersMin: 1,
  charactersMax: SQS_QUEUE_NAME_CHARACTERS_MAX,
  pattern: /^[\w-]+(?:\.fifo)?$/,
  allowed: "letters, digits, hyphens and underscores",
};
const TOPIC: NameRule = { ...QUEUE, what: "topic", charactersMax: 256 };
const BUCKET: NameRule = {
  what: "bucket",
  charactersMin: 3,
  charactersMax: 63,
  pattern:
    /^(?!xn--|sthree-|amzn-s3-demo-)(?!.*(?:\.\.|-s3alias$|--ol-s3$))[a-z0-9][a-z0-9.-]*[a-z0-9]$/,
  allowed: "lower-case letters, digits, hyphens and dots",
};
const TABLE: NameRule = {
  what: "table",
  charactersMin: 3,
  charactersMax: 255,
  pattern: /^[\w.-]+$/,
  allowed: "letters, digits, dots, hyphens and underscores",
};
const ROLE: NameRule = {
  what: "role",
  charactersMin: 1,
  charactersMax: 64,
  pattern: /^[\w-]+$/,
  allowed: "letters, digits, hyphens and underscores",
};

/** The pipeline's name as it may appear in names of AWS: queues and roles take no dots. */
export function stemOf(name: string): string {
  return name.replaceAll(".", "-");
}

/** Every name that AWS would refuse (N2). */
export function nameProblems(plan: InfraPlan): string[] {
  const { stem, bucket, topic, queue, deadLetterQueue, ledgerTable, outboxTable } = plan;
  const given: readonly (readonly [NameRule, string | null])[] = [
    [QUEUE, queue],
    [QUEUE, deadLetterQueue],
    [QUEUE, plan.lateQueue],
    [TOPIC, topic],
    [BUCKET, bucket?.name ?? null],
    [BUCKET, plan.claimCheckBucket],
    ...plan.outputs.map((name) => [BUCKET, name.split("/")[0] ?? ""] as const),
    [TABLE, ledgerTable],
    [TABLE, outboxTable],
    ...IAM_ROLES.map((role) => [ROLE, `${stem}-${role}`] as const),
  ];
  return given.flatMap(([rule, name]) => {
    const problem = name === null ? null : problemOf(rule, name);
    if (problem === null) return [];
    const fix = name?.startsWith(stem) ? "choose a shorter or simpler prefix" : "rename it";
    return [`${problem}; ${fix}`];
  });
}

function problemOf({ what, allowed, pattern, ...limits }: NameRule, name: string): string | null {
  const { charactersMin: min, charactersMax: max } = limits;
  if (name.length > max) {
    return `the ${what} "${name}" has ${name.length} characters, and AWS allows ${max}`; // N1
  }
  if (name.length >= min && pattern.test(name)) return null;
  return `the ${what} "${name}" is not a name that AWS accepts: ${min} to ${max} ${allowed}`;
}
