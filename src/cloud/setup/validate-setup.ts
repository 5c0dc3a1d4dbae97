// Validation of a set-up, before anything of it is done. First its form, which the published JSON
// Schema says as well; then what no schema can say: that names lead somewhere and fit together.
// What values AWS takes is the broker's to judge, at the rehearsal.
//   V1. A set-up speaks of its own resources only, so that it means the same everywhere.
//   V2. What has a field of its own is not said a second way among the attributes.

import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import type { Checked } from "../../core/events/problem.ts";
import type { CloudSetup } from "./cloud-setup.ts";
import { checkReferences } from "./references.ts";
import {
  anyObject,
  booleanField,
  createProblemReporter,
  integerField,
  listOf,
  oneOfField,
  optionalField,
  recordOf,
  requiredField,
  type SetupShape,
  structureField,
  textField,
} from "./shape.ts";

/** How many of a kind one set-up may have. */
const RESOURCES_MAX = 10_000;
const NOTIFICATIONS_MAX = 100;
const EVENTS_MAX = 100;
const RECEIVES_MAX = 1_000;

const attribute: SetupShape = (value, path, tell) => {
  const plain = ["string", "number", "boolean"].includes(typeof value);
  if (!plain) anyObject(value, path, tell);
};

const tagValue: SetupShape = (value, path, tell) => {
  if (typeof value !== "string") tell(path, "is no text");
};

/** Attributes, but for those that have fields of their own (V2). */
function attributesBut(fields: Readonly<Record<string, string>>): SetupShape {
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

const queue = structureField({
  name: requiredField(textField),
  fifo: optionalField(booleanField),
  attributes: optionalField(attributesBut({ FifoQueue: "fifo", RedrivePolicy: "deadLetter" })),
  tags: optionalField(tags),
  deadLetter: optionalField(
    structureField({
      queue: requiredField(textField),
      maxReceiveCount: requiredField(integerField(1, RECEIVES_MAX)),
    }),
  ),
});

const topic = structureField({
  name: requiredField(textField),
  fifo: optionalField(booleanField),
  attributes: optionalField(attributesBut({ FifoTopic: "fifo" })),
  tags: optionalField(tags),
});

const subscription = structureField({
  topic: requiredField(textField),
  queue: optionalField(textField),
  endpoint: optionalField(textField),
  raw: optionalField(booleanField),
  filterPolicy: optionalField(anyObject),
  filterPolicyScope: optionalField(oneOfField("MessageAttributes", "MessageBody")),
  deadLetter: optionalField(structureField({ queue: requiredField(textField) })),
  attributes: optionalField(
    attributesBut({
      RawMessageDelivery: "raw",
      FilterPolicy: "filterPolicy",
      FilterPolicyScope: "filterPolicyScope",
      RedrivePolicy: "deadLetter",
    }),
  ),
});

const notification = structureField({
  id: optionalField(textField),
  queue: optionalField(textField),
  topic: optionalField(textField),
  events: requiredField(listOf(textField, { min: 1, max: EVENTS_MAX })),
  prefix: optionalField(textField),
  suffix: optionalField(textField),
});

const bucket = structureField({
  name: requiredField(textField),
  versioning: optionalField(oneOfField("Enabled", "Suspended")),
  tags: optionalField(tags),
  notifications: optionalField(listOf(notification, { min: 0, max: NOTIFICATIONS_MAX })),
  eventBridge: optionalField(booleanField),
});

const setUp = structureField({
  $schema: optionalField(textField),
  queues: optionalField(listOf(queue, many)),
  topics: optionalField(listOf(topic, many)),
  subscriptions: optionalField(listOf(subscription, many)),
  buckets: optionalField(listOf(bucket, many)),
});

export function validateCloudSetup(value: JsonValue): Checked<CloudSetup> {
  const { problems, tell } = createProblemReporter();
  setUp(value, "", tell);
  // References are looked for only where everything is what it should be.
  if (problems.length === 0) checkReferences(value as unknown as CloudSetup, tell);
  if (problems.length > 0) return { kind: "invalid", problems };
  return { kind: "valid", value: value as unknown as CloudSetup };
}
