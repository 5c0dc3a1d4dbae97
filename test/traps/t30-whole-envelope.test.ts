// T30: a body with a dedupe_key among loose fields looks deduplicated, but is not an envelope: it
// has no id, no source, no time and no payload.

import { describe, expect, test } from "vitest";
import { decodeBody } from "../../src/core/events/decode/decode.ts";

const LOOSE = {
  dedupe_key: "landsat-2025-12-04T00:00Z",
  collection: "landsat",
  tile: "p32r29",
  scene_id: "...",
  metadata: {},
};

describe("T30: a key does not make an envelope", () => {
  test("the loose pattern is rejected with all missing fields, not taken for something else", () => {
    const decoded = decodeBody(JSON.stringify(LOOSE));
    if (decoded.kind !== "undecodable") throw new Error(decoded.kind);
    expect(decoded.problems).toEqual([
      { path: "/event_id", reason: "is missing" },
      { path: "/event_source", reason: "is missing" },
      { path: "/event_time", reason: "is missing" },
      { path: "/payload", reason: "is missing" },
    ]);
  });

  test("a body without any key is rejected as well", () => {
    const decoded = decodeBody(JSON.stringify({ collection: "landsat", tile: "p32r29" }));
    expect(decoded.kind).toBe("undecodable");
  });
});
