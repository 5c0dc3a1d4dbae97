// s3:TestEvent: what S3 sends when a notification is configured. It has no Records, tells of no
// object and is to be acknowledged; whoever takes it for a broken notification fills a dead-letter
// queue with it.

import type { JsonObject } from "../../encoding/canonical-json.ts";
import { memberOf } from "../problem.ts";

export interface TestEvent {
  /** Null if it was not told. */
  readonly bucket: string | null;
  readonly time: string | null;
}

/** The test event that `value` is, or undefined. */
export function readTestEvent(value: JsonObject): TestEvent | undefined {
  if (memberOf(value, "Event") !== "s3:TestEvent") return undefined;
  const bucket = memberOf(value, "Bucket");
  const time = memberOf(value, "Time");
  return {
    bucket: typeof bucket === "string" ? bucket : null,
    time: typeof time === "string" ? time : null,
  };
}
