// Archived claim checks: a message whose payload is in a bucket is archived as `govern` allows it.

import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/encoding/canonical-json.ts";
import type { ArchivedMessage } from "../../../src/core/events/archived-message.ts";
import { writeClaimCheck } from "../../../src/core/events/claim-check.ts";
import { createConsumerWorld } from "../../support/consumer-world.ts";

const SECRET = "passport-4711";

interface Sent {
  readonly spec?: object;
  /** Fields of the envelope, beside those of every envelope. */
  readonly fields?: JsonObject;
  readonly key?: string;
  /** The prefix of the payload's object. */
  readonly prefix?: string;
  readonly stored?: boolean;
}

/** Processes one claim check; returns what was archived. */
async function archivedOf({ spec = {}, fields = {}, key = "k", prefix = "", stored = true }: Sent) {
  const archived: ArchivedMessage[] = [];
  const given: unknown[] = [];
  await using world = await createConsumerWorld({
    bucket: "payloads",
    handler: ({ payload }) => void given.push(payload),
    pipeline: { source: { queue: "work" }, ...spec } as never,
    archive: {
      async keep(_, message) {
        archived.push(message);
        return "s3://bucket/m";
      },
    },
  });
  const location = { bucket: "payloads", prefix, eventKey: "k" };
  const { check, payload, bytes } = writeClaimCheck(location, { name: SECRET, n: 1 });
  if (stored) await world.put(check.key, bytes);
  const envelope = {
    schema_version: 1,
    event_id: "0190a1b2-0000-7000-8000-000000000000",
    event_source: "test.unit.world",
    event_time: "2026-01-01T00:00:00.000Z",
    dedupe_key: key,
    payload,
    ...fields,
  };
  await world.sendBody(JSON.stringify(envelope));
  await world.consumer().start();
  await world.pass(2_000);
  expect(await world.depth()).toBe(0);
  // The event of the stored payload is not a message.
  expect(await world.depth(world.deadLetters)).toBe(stored ? 1 : 0);
  return { archived, given, reference: payload };
}

const govern = () => "mask";

test("a masked claim check is archived with its reference and without hidden values", async () => {
  const spec = { govern, mask: ["payload.name", "customer"] };
  const { archived, given, reference } = await archivedOf({ spec, fields: { customer: SECRET } });
  expect(given).toEqual([{ name: "***", n: 1 }]);
  expect(archived).toHaveLength(1);
  expect(archived[0]).toMatchObject({ masked: true, attributes: {} });
  const body = JSON.parse(archived[0]?.body ?? "");
  expect(body).toMatchObject({ customer: "***", payload: reference });
  expect(JSON.stringify(archived)).not.toContain(SECRET);
});

test.each<[string, Sent]>([
  ["its key", { key: SECRET, spec: { govern, mask: ["dedupe_key", "payload.name"] } }],
  ["its whole payload", { spec: { govern, mask: ["payload"] } }],
  ["its reference", { spec: { govern, mask: ["payload.tidegate_claim_check.key", "x"] } }],
  ["a value in its reference", { prefix: `${SECRET}/`, spec: { govern, mask: ["payload.name"] } }],
])("a claim check is not archived if the mask covers %s", async (_title, sent) => {
  const { archived, given } = await archivedOf(sent);
  expect(given).toHaveLength(1);
  expect(archived).toEqual([]);
});

test("an allowed claim check is archived as it was sent, a dropped one is not", async () => {
  const spec = { govern: () => "allow", mask: ["payload.name"], onMissing: "drop" };
  const { archived, reference } = await archivedOf({ spec });
  expect(archived).toHaveLength(1);
  expect(archived[0]).toMatchObject({ masked: false });
  expect(JSON.parse(archived[0]?.body ?? "")).toMatchObject({ payload: reference });
  const dropped = await archivedOf({ spec, stored: false });
  expect([dropped.given, dropped.archived]).toEqual([[], []]);
});
