// Test event: s3:TestEvent, which S3 sends when a notification is configured. It has no Records and
// no object, and must be acknowledged; a consumer that takes it for a broken notification fills a
// dead-letter queue with it.

import type { JsonObject } from "../../encoding/canonical-json.ts";
import { memberOf } from "../problem.ts";

export interface TestEvent {
  /** Null if the event does not contain it. */
  readonly bucket: string | null;
  readonly time: string | null;
}

/** The test event in `value`, or undefined. */
export function readTestEvent(value: JsonObject): TestEvent | undefined {
  if (memberOf(value, "Event") !== "s3:TestEvent") return undefined;
  const bucket = memberOf(value, "Bucket");
  const time = memberOf(value, "Time");
  return {
    bucket: typeof bucket === "string" ? bucket : null,
    time: typeof time === "string" ? time : null,
  };
}
