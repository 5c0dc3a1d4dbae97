import { expect, test } from "vitest";
import { decodeS3Record } from "../../core/events/decode/s3-notification.ts";
import { START_AT } from "../services.ts";
import { SimBucket } from "./sim-bucket.ts";

test.each([
  ["put", true],
  ["put", false],
  ["removed", true],
  ["removed", false],
] as const)(
  "the identity of a change (%s, versioned: %s) equals the one that the decoder derives",
  (change, versioned) => {
    const { record, identity } = new SimBucket(versioned).change("e1", "g1", change, START_AT + 7);
    const decoded = decodeS3Record(record as never, "", null);
    expect(decoded.kind === "event" && decoded.event.event_key).toBe(identity);
  },
);
