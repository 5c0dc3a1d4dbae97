// T29: a dedupe key without the tile is the same for every tile of a scene, and one without its
// source is the same for every pipeline; a ledger then drops all but one.

import { describe, expect, test } from "vitest";
import {
  type BuiltEnvelope,
  buildEnvelope,
  envelopeKey,
  messageDedupId,
  payloadDigest,
} from "../../src/core/events/envelope.ts";

const SCENE = "landsat-2025-12-04T00:00Z";

function built(source: string, tile: string, dedupeKey: string): BuiltEnvelope {
  const result = buildEnvelope({
    source,
    dedupeKey,
    eventTime: "2025-12-04T00:00:00Z",
    payload: { tile },
  });
  if (result.kind === "invalid") throw new Error("was refused");
  return result.value;
}

describe("T29: a dedupe key identifies one event permanently, within its source", () => {
  test("two sources may use one key and stay apart", () => {
    const [landsat, soil] = ["kfm.remote-sensing.landsat", "kfm.remote-sensing.soil"] as const;
    expect(messageDedupId(landsat, SCENE)).not.toBe(messageDedupId(soil, SCENE));
    expect(envelopeKey(landsat, SCENE)).not.toBe(envelopeKey(soil, SCENE));
  });

  test("a key without the tile is detected by its payloads: one identity, two digests", () => {
    const one = built("kfm.rs.landsat", "p32r29", SCENE);
    const two = built("kfm.rs.landsat", "p32r30", SCENE);
    expect(two.dedupId).toBe(one.dedupId);
    expect(payloadDigest(two.envelope.payload)).not.toBe(payloadDigest(one.envelope.payload));
  });

  test("a key that has the tile gives every tile an identity", () => {
    const one = built("kfm.rs.landsat", "p32r29", `${SCENE}/p32r29`);
    const two = built("kfm.rs.landsat", "p32r30", `${SCENE}/p32r30`);
    expect(two.dedupId).not.toBe(one.dedupId);
    expect(two.envelope.event_id).not.toBe(one.envelope.event_id);
  });

  test("the identity does not depend on the five minutes of SQS", () => {
    expect(messageDedupId("kfm.rs.landsat", SCENE)).toBe(messageDedupId("kfm.rs.landsat", SCENE));
  });
});
