// T16: an ETag names bytes, it is not their digest. The same bytes uploaded in other parts have
// another one, so "same content, same key" cannot be promised.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { md5Bytes, md5Hex, md5HexOfParts } from "../../src/core/encoding/hash.ts";
import { eventOf, notificationOf } from "../support/traps/message.ts";

const BYTES = "the same bytes, whichever way they were sent";

/** The ETag that S3 gives an upload of these parts. */
function multipartEtag(parts: readonly string[]): string {
  return `${md5HexOfParts(parts.map((part) => md5Bytes(part)))}-${parts.length}`;
}

function page(path: string): string {
  return readFileSync(new URL(`../../docs/reference/${path}`, import.meta.url), "utf8");
}

describe("T16: the ETag is opaque", () => {
  test("the same content has one ETag and one object state per way to upload it", () => {
    const etags = [
      md5Hex(BYTES),
      multipartEtag([BYTES]),
      multipartEtag([BYTES.slice(0, 10), BYTES.slice(10)]),
      multipartEtag([BYTES.slice(0, 20), BYTES.slice(20)]),
    ];
    expect(new Set(etags).size).toBe(4);
    const keys = etags.map((eTag) => {
      const event = eventOf(notificationOf({ eTag, size: BYTES.length, sequencer: "01" }));
      expect(event.etag).toBe(eTag); // Kept whole: neither cut at the dash nor verified as MD5.
      return event.idempotency_key;
    });
    expect(new Set(keys).size).toBe(4);
  });

  test("the reference and the published schema say so", () => {
    expect(page("events.md")).toContain("An ETag is not a digest");
    expect(page("schemas/object-event.schema.json")).toContain("not a digest");
  });
});
