// Object event validation: checks object events that arrived as messages.
//   W1. Everything that can be computed is computed again and must match: a producer with another
//       key scheme or spelling would split one object into two.
//   W2. event_id is the exception: a replay keeps its original id, of any version.
//   W3. Unknown fields are kept; absent optional fields mean null.

import type { JsonObject, JsonValue } from "../encoding/canonical-json.ts";
import { eventIdProblems } from "./envelope.ts";
import {
  buildObjectEvent,
  OBJECT_EVENT_VERSION,
  type ObjectEvent,
  type ObjectFacts,
  SOURCE_KINDS,
} from "./object-event.ts";
import { asObject, type Checked, invalidAt, memberOf, type Problem } from "./problem.ts";

/** The event with all its fields, or its problems. */
export function validateObjectEvent(value: JsonValue): Checked<ObjectEvent> {
  const object = asObject(value);
  if (object === undefined) return invalidAt("", "is not a JSON object");
  const version = memberOf(object, "schema_version");
  if (version !== OBJECT_EVENT_VERSION) {
    const actual = version === undefined ? "missing" : JSON.stringify(version);
    return invalidAt("/schema_version", `is ${actual}; this release reads ${OBJECT_EVENT_VERSION}`);
  }
  const facts = factsOf(object);
  if (facts === undefined)
    return invalidAt("/source_kind", `is none of ${SOURCE_KINDS.join(", ")}`);
  const rebuilt = buildObjectEvent(facts);
  const eventId = memberOf(object, "event_id");
  const problems = [
    ...eventIdProblems(eventId),
    ...(rebuilt.kind === "invalid" ? rebuilt.problems : differences(object, rebuilt.value)),
  ];
  if (rebuilt.kind === "invalid" || problems.length > 0) return { kind: "invalid", problems };
  const event: ObjectEvent = { ...object, ...rebuilt.value, event_id: eventId as string }; // W2, W3
  return { kind: "valid", value: event };
}

function factsOf(object: JsonObject): ObjectFacts | undefined {
  const source = SOURCE_KINDS.find((kind) => kind === memberOf(object, "source_kind"));
  if (source === undefined) return undefined;
  return {
    source_kind: source,
    event_name: memberOf(object, "event_name"),
    bucket: memberOf(object, "bucket"),
    key: memberOf(object, "key"),
    version_id: memberOf(object, "version_id"),
    etag: memberOf(object, "etag"),
    size: memberOf(object, "size"),
    sequencer: memberOf(object, "sequencer"),
    request_id: memberOf(object, "request_id"),
    event_time: memberOf(object, "event_time"),
    last_modified: memberOf(object, "last_modified"),
    trace_id: memberOf(object, "trace_id"),
  };
}

/** Fields that differ from the computed ones (W1). */
function differences(object: JsonObject, rebuilt: ObjectEvent): Problem[] {
  const problems: Problem[] = [];
  for (const [name, expected] of Object.entries(rebuilt)) {
    if (name === "event_id") continue; // W2
    const actual = memberOf(object, name) ?? null;
    if (actual === expected) continue;
    problems.push({ path: `/${name}`, reason: `should be ${JSON.stringify(expected)}` });
  }
  return problems;
}
