// Validation of a set-up, before anything of it is done. First its form, which the published JSON
// Schema says as well; then what no schema can say: that names lead somewhere and fit together.
// What values AWS takes is the broker's to judge, at the rehearsal.
//   V1. A set-up speaks of its own resources only, so that it means the same everywhere.
//   V2. What has a field of its own is not said a second way among the attributes.

import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import type { Checked } from "../../core/events/problem.ts";
import type { CloudInit } from "./cloud-setup.ts";
import { checkReferences } from "./references.ts";
import {
  anyObject,
  createTeller,
  listOf,
  oneOf,
  optional,
  recordOf,
  required,
  type Shape,
  structure,
  text,
  toggle,
  wholeNumber,
} from "./shape.ts";

/** How many of a kind one set-up may have. */
const RESOURCES_MAX = 10_000;
const NOTIFICATIONS_MAX = 100;
const EVENTS_MAX = 100;
const RECEIVES_MAX = 1_000;

const attribute: Shape = (value, path, tell) => {
  const plain = ["string", "number", "boolean"].includes(typeof value);
  if (!plain) anyObject(value, path, tell);
};

const tagValue: Shape = (value, path, tell) => {
  if (typeof value !== "string") tell(path, "is no text");
};

/** Attributes, but for those that have fields of their own (V2). */
function attributesBut(fields: Readonly<Record<string, string>>): Shape {
  const values = recordOf(attribute);
  return (value, path, tell) => {
    values(value, path, tell);
    for (const [name, field] of Object.entries(fields)) {
      if (typeof value === "object" && value !== null && Object.hasOwn(value, name)) {
        tell(`${path}/${name}`, `has a field of its own, ${field}`);
      }
    }
  };
}

const many = { min: 0, max: RESOURCES_MAX };
const tags = recordOf(tagValue);

const queue = structure({
  name: required(text),
  fifo: optional(toggle),
  attributes: optional(attributesBut({ FifoQueue: "fifo", RedrivePolicy: "deadLetter" })),
  tags: optional(tags),
  deadLetter: optional(
    structure({
      queue: required(text),
      maxReceiveCount: required(wholeNumber(1, RECEIVES_MAX)),
    }),
  ),
});

const topic = structure({
  name: required(text),
  fifo: optional(toggle),
  attributes: optional(attributesBut({ FifoTopic: "fifo" })),
  tags: optional(tags),
});

const subscription = structure({
  topic: required(text),
  queue: optional(text),
  endpoint: optional(text),
  raw: optional(toggle),
  filterPolicy: optional(anyObject),
  filterPolicyScope: optional(oneOf("MessageAttributes", "MessageBody")),
  deadLetter: optional(structure({ queue: required(text) })),
  attributes: optional(
    attributesBut({
      RawMessageDelivery: "raw",
      FilterPolicy: "filterPolicy",
      FilterPolicyScope: "filterPolicyScope",
      RedrivePolicy: "deadLetter",
    }),
  ),
});

const notification = structure({
  id: optional(text),
  queue: optional(text),
  topic: optional(text),
  events: required(listOf(text, { min: 1, max: EVENTS_MAX })),
  prefix: optional(text),
  suffix: optional(text),
});

const bucket = structure({
  name: required(text),
  versioning: optional(oneOf("Enabled", "Suspended")),
  tags: optional(tags),
  notifications: optional(listOf(notification, { min: 0, max: NOTIFICATIONS_MAX })),
  eventBridge: optional(toggle),
});

const setUp = structure({
  $schema: optional(text),
  queues: optional(listOf(queue, many)),
  topics: optional(listOf(topic, many)),
  subscriptions: optional(listOf(subscription, many)),
  buckets: optional(listOf(bucket, many)),
});

export function validateCloudInit(value: JsonValue): Checked<CloudInit> {
  const { problems, tell } = createTeller();
  setUp(value, "", tell);
  // References are looked for only where everything is what it should be.
  if (problems.length === 0) checkReferences(value as unknown as CloudInit, tell);
  if (problems.length > 0) return { kind: "invalid", problems };
  return { kind: "valid", value: value as unknown as CloudInit };
}
