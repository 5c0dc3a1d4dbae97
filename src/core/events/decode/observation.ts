// Observations: an object as a HEAD or a listing shows it, as an event that it exists.
//   H1. The idempotency key equals that of the event which left the object in this state (D3 of
//       object-identity.ts).
//   H2. A key from a listing with EncodingType=url is form-encoded, any other is raw; the caller
//       knows which one it requested.

import { buildObjectEvent, type ObjectEvent } from "../object-event.ts";
import { type Checked, invalidAt } from "../problem.ts";
import { decodeFormKey } from "./s3-notification.ts";

/** The event name of an object that was observed, not announced. */
export const OBSERVED_EVENT_NAME = "ObjectCreated:Observed";

export interface ObjectObservation {
  readonly source: "head" | "listing";
  readonly bucket: string;
  readonly key: string;
  readonly keyEncoding: "raw" | "form";
  /** With or without quotes. */
  readonly etag: string;
  readonly size: number;
  /** RFC 3339. */
  readonly lastModified: string;
  /** Null if the source does not return it, as ListObjectsV2 never does. */
  readonly versionId: string | null;
  readonly traceId: string | null;
}

/** The event that the object exists. */
export function decodeObservation(observation: ObjectObservation): Checked<ObjectEvent> {
  const { key, keyEncoding, lastModified } = observation;
  const decoded = keyEncoding === "form" ? decodeFormKey(key) : key; // H2
  if (decoded === null) return invalidAt("/key", "is not form-encoded UTF-8");
  return buildObjectEvent({
    source_kind: observation.source,
    event_name: OBSERVED_EVENT_NAME,
    bucket: observation.bucket,
    key: decoded,
    version_id: observation.versionId,
    etag: observation.etag,
    size: observation.size,
    sequencer: null,
    request_id: null,
    event_time: lastModified,
    last_modified: lastModified,
    trace_id: observation.traceId,
  });
}
