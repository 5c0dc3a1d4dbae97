// Access rules: keys, resource policies and permissions.

import { covers, type ObservedStatement } from "../policy-document.ts";
import type { Match, Rule } from "../rule.ts";
import type { Location, ObservedKey, ObservedQueue, Setup } from "../setup.ts";
import { queueAt } from "./delivery-rules.ts";
import { nameIn } from "./words.ts";

const SERVICES = /^(sqs|sns|s3|dynamodb|kms)$/i;
const SOURCE_KEYS = ["aws:sourcearn", "aws:sourceaccount", "aws:principalorgid", "aws:sourceorgid"];
const KEY_ACTIONS = ["kms:GenerateDataKey", "kms:Decrypt"];

/** A service that sends to a queue, and the resource for which it does. */
interface Sender {
  readonly service: string;
  readonly sourceArn: string;
  readonly queue: ObservedQueue;
  readonly location: Location;
}

export const ACCESS_RULES: readonly Rule[] = [
  {
    id: "TGD040",
    name: "aws-managed-key",
    title: "Queue encrypted with alias/aws/sqs that a service sends to",
    severity: "error",
    risk: "loss",
    consequence:
      "The policy of an AWS managed key cannot be changed, so S3, SNS and EventBridge may not use it. Their messages are dropped.",
    fix: "Use SSE-SQS, or a customer managed key that allows the sending service.",
    check: (setup) =>
      sendersOf(setup).flatMap(({ service, queue }) => {
        if (!isManagedAlias(queue.kmsKey)) return [];
        const message =
          `queue ${queue.name} is encrypted with ${queue.kmsKey}, which ${service} may not use, ` +
          `so its messages are lost; set SqsManagedSseEnabled or a customer managed key`;
        return [{ location: queue.location, message }];
      }),
  },
  {
    id: "TGD041",
    name: "key-refuses-sender",
    title: "KMS key that does not allow the sending service",
    severity: "error",
    risk: "loss",
    consequence: "The service cannot encrypt, so its messages are dropped.",
    fix: "Allow the service principal kms:GenerateDataKey and kms:Decrypt in the key's policy.",
    check: (setup) =>
      sendersOf(setup).flatMap(({ service, queue }) => {
        const key = keyOf(setup, queue.kmsKey);
        if (key === undefined || keyAllows(key, service)) return [];
        const message =
          `KMS key ${key.location.name} of queue ${queue.name} does not allow ${service} to use it, ` +
          `so its messages are lost; allow kms:GenerateDataKey* and kms:Decrypt for ${service}`;
        return [{ location: key.location, message }];
      }),
  },
  {
    id: "TGD042",
    name: "sender-not-allowed",
    title: "Queue that does not allow its topic or bucket",
    severity: "error",
    risk: "loss",
    consequence: "Every message of that sender is refused and dropped.",
    fix: "Add a queue policy that allows sqs:SendMessage to the service, for that source.",
    check: (setup) =>
      sendersOf(setup).flatMap(({ service, sourceArn, queue }) => {
        if (queue.policy === undefined || maySend(queue, service, sourceArn)) return [];
        const message =
          `queue ${queue.name} does not allow ${service} to send for ${nameIn(sourceArn)}, so its ` +
          `messages are dropped; allow sqs:SendMessage in the queue policy`;
        return [{ location: queue.location, message }];
      }),
  },
  {
    id: "TGD043",
    name: "queue-policy-open",
    title: "Queue or bucket policy that allows anybody",
    severity: "error",
    risk: "exposure",
    consequence: "Any account, or any topic and bucket of AWS, may send to the queue or read it.",
    fix: "Name the principal, and limit services by aws:SourceArn and aws:SourceAccount.",
    check: ({ queues, buckets }) => [
      ...queues.flatMap(({ name, location, policy }) => openings(name, location, policy)),
      ...buckets.flatMap(({ name, location, policy }) => openings(name, location, policy)),
    ],
  },
  {
    id: "TGD044",
    name: "iam-too-broad",
    title: "Permissions that are too broad",
    severity: "error",
    risk: "exposure",
    consequence: "A stolen credential, or a bug, reads and deletes every queue and bucket.",
    fix: "List the actions and the ARNs that the role needs; docs/guides/iam.md has them.",
    check: ({ grants }) =>
      grants.flatMap(({ location, statements }) =>
        statements.flatMap((statement) => breadths(location, statement)),
      ),
  },
  {
    id: "TGD045",
    name: "get-object-too-wide",
    title: "GetObject beyond the prefix of the pipeline",
    severity: "warning",
    risk: "exposure",
    consequence: "The consumer can read objects that it never needs.",
    fix: "Grant s3:GetObject on the prefix of the pipeline only.",
    check: ({ grants, pipeline }) => {
      if (pipeline?.bucket == null || pipeline.prefix === "") return [];
      const { bucket, prefix } = pipeline;
      const elsewhere = `arn:aws:s3:::${bucket}/another-prefix/object`;
      return grants.flatMap(({ location, statements }) => {
        const wide = statements.some((each) => allows(each, "s3:GetObject", elsewhere));
        if (!wide) return [];
        const message =
          `${location.name} allows s3:GetObject on all of ${bucket}, but pipeline ${pipeline.name} ` +
          `reads ${prefix} only; name arn:aws:s3:::${bucket}/${prefix}*`;
        return [{ location, message }];
      });
    },
  },
  {
    id: "TGD046",
    name: "list-bucket-missing",
    title: "GetObject without ListBucket",
    severity: "note",
    risk: "blindness",
    consequence: "S3 answers 403 for a missing object, so it looks like a missing permission.",
    fix: "Grant s3:ListBucket on the bucket.",
    check: ({ grants }) =>
      grants.flatMap(({ location, statements }) => {
        const gets = statements.some((each) => names(each, "s3:GetObject"));
        const lists = statements.some((each) => names(each, "s3:ListBucket"));
        if (!gets || lists || statements.some(({ actions }) => actions === null)) return [];
        const message =
          `${location.name} allows s3:GetObject without s3:ListBucket, so S3 answers 403 for a missing ` +
          `object; allow s3:ListBucket on the bucket`;
        return [{ location, message }];
      }),
  },
  {
    id: "TGD047",
    name: "bucket-without-tls",
    title: "Bucket that allows requests without TLS",
    severity: "warning",
    risk: "exposure",
    consequence: "Objects may be read and written in plain text on the network.",
    fix: "Deny all actions if aws:SecureTransport is false.",
    check: ({ buckets }) =>
      buckets.flatMap(({ name, location, policy }) => {
        if (policy === undefined || policy?.some(deniesPlainHttp)) return [];
        const message =
          `bucket ${name} allows requests without TLS, so objects can be read on the network; ` +
          `deny requests with aws:SecureTransport false in the bucket policy`;
        return [{ location, message }];
      }),
  },
];

function sendersOf(setup: Setup): readonly Sender[] {
  const fromTopics = setup.subscriptions.flatMap(({ protocol, endpoint, topicArn, location }) => {
    const queue = protocol === "sqs" ? queueAt(setup, endpoint) : undefined;
    return queue === undefined
      ? []
      : [{ service: "sns.amazonaws.com", sourceArn: topicArn, queue, location }];
  });
  const fromBuckets = setup.notifications.flatMap(({ targetArn, bucket, location }) => {
    const queue = queueAt(setup, targetArn);
    const sourceArn = `arn:aws:s3:::${bucket}`;
    return queue === undefined ? [] : [{ service: "s3.amazonaws.com", sourceArn, queue, location }];
  });
  return [...fromTopics, ...fromBuckets];
}

function isManagedAlias(key: string | null | undefined): boolean {
  return typeof key === "string" && /(^|[:/])alias\/aws\//.test(key);
}

function keyOf({ keys }: Setup, name: string | null | undefined): ObservedKey | undefined {
  return typeof name === "string" ? keys.find(({ names: all }) => all.includes(name)) : undefined;
}

function keyAllows({ policy }: ObservedKey, service: string): boolean {
  if (policy === undefined) return true;
  const own = (policy ?? []).filter(
    ({ effect, principals }) =>
      effect === "Allow" && (principals === null || principals.includes(service)),
  );
  return KEY_ACTIONS.every((action) =>
    own.some(({ actions }) => actions === null || actions.some((each) => covers(each, action))),
  );
}

function maySend({ policy, arn }: ObservedQueue, service: string, sourceArn: string): boolean {
  return (policy ?? []).some(({ effect, principals, actions, resources, conditions }) => {
    if (effect !== "Allow") return false;
    const sources = conditions?.["aws:sourcearn"] ?? [];
    return (
      (principals === null || principals.some((each) => each === service || each === "*")) &&
      (actions === null || actions.some((each) => covers(each, "sqs:SendMessage"))) &&
      (resources === null ||
        resources.length === 0 ||
        resources.some((each) => covers(each, arn))) &&
      (conditions === null ||
        sources.length === 0 ||
        sources.some((each) => covers(each, sourceArn)))
    );
  });
}

function openings(
  name: string,
  location: Location,
  policy: readonly ObservedStatement[] | null | undefined,
): readonly Match[] {
  return (policy ?? []).flatMap(({ effect, principals, conditions }) => {
    if (effect !== "Allow" || principals === null || conditions === null) return [];
    if (SOURCE_KEYS.some((key) => conditions[key] !== undefined)) return [];
    const open = principals.find((each) => each === "*" || each.endsWith(".amazonaws.com"));
    if (open === undefined) return [];
    const who = open === "*" ? "anybody" : `${open} on behalf of any account`;
    const fix = open === "*" ? "name the principal" : "add a condition on aws:SourceArn";
    return [{ location, message: `the policy of ${name} allows ${who} to use it; ${fix}` }];
  });
}

function breadths(location: Location, statement: ObservedStatement): readonly Match[] {
  const { effect, actions, resources, negated } = statement;
  if (effect !== "Allow" || actions === null) return [];
  if (negated) {
    const message = `${location.name} allows all but a few (NotAction or NotResource); list what it needs`;
    return [{ location, message }];
  }
  const wide = actions.find((each) => /^(\*|[a-z0-9]+:\*)$/i.test(each) && isOurs(each));
  if (wide !== undefined) {
    const message = `${location.name} allows all actions (${wide}); list the actions that it needs`;
    return [{ location, message }];
  }
  const used = actions.find(
    (each) => isOurs(each) && !/^(s3:ListAllMyBuckets|sqs:ListQueues|sns:ListTopics)$/.test(each),
  );
  if (used === undefined || resources?.includes("*") !== true) return [];
  const message = `${location.name} allows ${used} on every resource; name the ARNs that it needs`;
  return [{ location, message }];
}

function isOurs(action: string): boolean {
  return action === "*" || SERVICES.test(action.split(":")[0] ?? "");
}

function names({ effect, actions }: ObservedStatement, action: string): boolean {
  return effect === "Allow" && (actions ?? []).some((each) => covers(each, action));
}

function allows(statement: ObservedStatement, action: string, resource: string): boolean {
  const { resources } = statement;
  return names(statement, action) && (resources ?? []).some((each) => covers(each, resource));
}

function deniesPlainHttp({ effect, conditions }: ObservedStatement): boolean {
  if (effect !== "Deny") return false;
  return conditions === null || conditions["aws:securetransport"]?.includes("false") === true;
}
