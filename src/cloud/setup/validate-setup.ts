// Validation of a setup, before any of it is applied. It checks the structure, which the published
// JSON Schema also describes, and then the references between names, which no schema can check. The
// broker checks the values at the rehearsal.
//   V1. A setup references only its own resources, so that it means the same everywhere.
//   V2. An attribute that has its own field cannot also be set among the attributes.
//   V3. References are checked between sound resources. A name that a faulty resource defines
//       counts as defined, so that no problem is a mere consequence of another.

import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { asObject, type Checked } from "../../core/events/problem.ts";
import type { CloudSetup } from "./cloud-setup.ts";
import { checkReferences, type DefinedNames } from "./references.ts";
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
import { soundPart } from "./sound-part.ts";

/** Maximum number of resources of one kind. */
const RESOURCES_MAX = 10_000;
const NOTIFICATIONS_MAX = 100;
const EVENTS_MAX = 100;
const RECEIVES_MAX = 1_000;

const attribute: SetupShape = (value, path, report) => {
  const scalar = ["string", "number", "boolean"].includes(typeof value);
  if (!scalar) anyObject(value, path, report);
};

const tagValue: SetupShape = (value, path, report) => {
  if (typeof value !== "string") report(path, "must be a string");
};

/** Attributes, except those that have their own field (V2). */
function attributesExcept(fields: Readonly<Record<string, string>>): SetupShape {
  const values = recordOf(attribute);
  return (value, path, report) => {
    values(value, path, report);
    for (const [name, field] of Object.entries(fields)) {
      if (typeof value === "object" && value !== null && Object.hasOwn(value, name)) {
        report(`${path}/${name}`, `must be set with the field "${field}"`);
      }
    }
  };
}

const many = { min: 0, max: RESOURCES_MAX };
const tags = recordOf(tagValue);

const queue = structureField({
  name: requiredField(textField),
  fifo: optionalField(booleanField),
  attributes: optionalField(attributesExcept({ FifoQueue: "fifo", RedrivePolicy: "deadLetter" })),
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
  attributes: optionalField(attributesExcept({ FifoTopic: "fifo" })),
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
    attributesExcept({
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

const setup = structureField({
  $schema: optionalField(textField),
  queues: optionalField(listOf(queue, many)),
  topics: optionalField(listOf(topic, many)),
  subscriptions: optionalField(listOf(subscription, many)),
  buckets: optionalField(listOf(bucket, many)),
});

/** Whether the setup defines that name; true for all if the list itself is invalid (V3). */
function named(value: JsonValue, kind: "queues" | "topics"): DefinedNames {
  const list = asObject(value)?.[kind] ?? [];
  if (!Array.isArray(list)) return { has: () => true };
  return new Set(list.map((each) => asObject(each as JsonValue)?.name));
}

export function validateCloudSetup(value: JsonValue): Checked<CloudSetup> {
  const { problems, report } = createProblemReporter();
  setup(value, "", report);
  const part = soundPart(value, problems); // V3
  const reportPart = (path: string, reason: string) => report(part.wholePath(path), reason);
  const names = { queues: named(value, "queues"), topics: named(value, "topics") };
  checkReferences(part.setup, reportPart, names);
  if (problems.length > 0) return { kind: "invalid", problems };
  return { kind: "valid", value: value as unknown as CloudSetup };
}
