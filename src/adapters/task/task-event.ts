// Task event: the event as a task gets it, as JSON and as environment variables.
//   V1. The JSON has everything. Variables repeat what shell scripts need.
//   V2. A value that no variable can hold is left out of the variables.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import type { HandlerEvent } from "../../ingest/spec/define-pipeline.ts";

interface About {
  readonly pipeline: string;
  readonly key: string;
  readonly attempt: number;
  readonly fence: number;
  readonly lane: string;
  readonly watermark: number | null;
}

/** The part of the JSON that depends on the kind of the event. */
export function describeEvent(event: HandlerEvent): JsonObject {
  const kind = kindOf(event);
  if ("object" in event) {
    return { kind, object: event.object as unknown as JsonValue };
  }
  if ("envelope" in event) {
    const { envelope, payload } = event;
    return {
      kind,
      envelope: envelope as unknown as JsonValue,
      payload: payload as JsonValue,
    };
  }
  const { body, ...more } = event;
  const isBytes = body instanceof Uint8Array;
  const content = isBytes ? { bodyBase64: Buffer.from(body).toString("base64") } : { body };
  return { kind, ...more, ...content } as unknown as JsonObject;
}

/** The same word in the JSON and in the variables; "own" is a message without an envelope. */
function kindOf(event: HandlerEvent): string {
  if ("object" in event) return event.kind;
  return "envelope" in event ? "message" : "own";
}

/** V1 */
export function variablesOf(event: HandlerEvent, about: About): Record<string, string> {
  const object = "object" in event ? event.object : null;
  const all: Readonly<Record<string, string | number | null | undefined>> = {
    TIDEGATE_PIPELINE: about.pipeline,
    TIDEGATE_KEY: about.key,
    TIDEGATE_ATTEMPT: about.attempt,
    TIDEGATE_FENCE: about.fence,
    TIDEGATE_LANE: about.lane,
    TIDEGATE_WATERMARK: about.watermark,
    TIDEGATE_KIND: kindOf(event),
    TIDEGATE_BUCKET: object?.bucket,
    TIDEGATE_OBJECT_KEY: object?.key,
    TIDEGATE_VERSION_ID: object?.version_id,
  };
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(all)) {
    const text = value === null || value === undefined ? null : String(value);
    if (text !== null && !text.includes("\0")) variables[name] = text; // V2
  }
  return variables;
}
