// Judging object events that came as messages of their own.
//   W1. Everything that can be computed is computed again and must match: a producer with another
//       key scheme, or another spelling, would split one object into two.
//   W2. event_id is the exception: a replay keeps the id it was given, of whatever version.
//   W3. Fields we do not know are kept; absent optional fields mean null.

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

/** The event, with all its fields, or what is wrong with it. */
export function validateObjectEvent(value: JsonValue): Checked<ObjectEvent> {
  const object = asObject(value);
  if (object === undefined) return invalidAt("", "is no JSON object");
  const version = memberOf(object, "schema_version");
  if (version !== OBJECT_EVENT_VERSION) {
    const told = version === undefined ? "missing" : JSON.stringify(version);
    return invalidAt("/schema_version", `is ${told}; this release reads ${OBJECT_EVENT_VERSION}`);
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

/** Fields that are not what they must be (W1). */
function differences(object: JsonObject, rebuilt: ObjectEvent): Problem[] {
  const problems: Problem[] = [];
  for (const [name, expected] of Object.entries(rebuilt)) {
    if (name === "event_id") continue; // W2
    const told = memberOf(object, name) ?? null;
    if (told === expected) continue;
    problems.push({ path: `/${name}`, reason: `should be ${JSON.stringify(expected)}` });
  }
  return problems;
}
