import { expect, test } from "vitest";
import { decodeArchived } from "../../core/events/archived-message.ts";
import { epochMs } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { ObjectWriter } from "../../ports/objects/object-writer.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import { createMemoryObjectWriter } from "../../stores/memory/object-writer.ts";
import type { WorkRecord } from "../stages/decode.ts";
import { archivedForm } from "./archived-form.ts";
import { createMessageArchive } from "./message-archive.ts";

const SIGNAL = new AbortController().signal;
const KEY = asRecordKey("k1:00ff");
const PLACE = { bucket: "kept", prefix: "messages/orders/" };
const DELIVERY: Delivery = {
  messageId: "m",
  receipt: "r",
  body: '{"id":"a","card":"4111"}',
  attributes: { card: "4111" },
  traceHeader: null,
  groupId: "g",
  dedupId: "4111",
  sentAt: epochMs(1_000),
  receiveCount: 3,
  movedFrom: null,
};
const INPUT = {
  body: { id: "a", card: "4111" },
  key: "a",
  attributes: { card: "4111" },
  group: "g",
  sentAt: epochMs(1_000),
  receiveCount: 3,
  messageId: "m",
};
const RECORD: WorkRecord = {
  key: KEY,
  identity: "own:a",
  businessKey: "a",
  object: null,
  eventTime: epochMs(1_000),
  content: { kind: "own", input: INPUT },
  original: null,
};

function archivedBy(writer: ObjectWriter) {
  const message = archivedForm(RECORD, DELIVERY, null);
  if (message === null) throw new Error("not archived");
  return createMessageArchive(writer, PLACE).keep(KEY, message, SIGNAL);
}

test("a message that is archived again is the same object, and a later receive changes nothing", async () => {
  const stored: string[] = [];
  const writer = createMemoryObjectWriter(({ key }) => void stored.push(key));
  const uri = await archivedBy(writer);
  expect(await archivedBy(writer)).toBe(uri);
  expect(stored.map((key) => `s3://kept/${key}`)).toEqual([uri]);
  const { bytes } = writer.read("kept", stored[0] ?? "") ?? { bytes: new Uint8Array() };
  expect(decodeArchived(bytes, stored[0] ?? "")).toMatchObject({ body: DELIVERY.body });
  const again = archivedForm(RECORD, { ...DELIVERY, receiveCount: 9, receipt: "other" }, null);
  expect(again).toEqual(archivedForm(RECORD, DELIVERY, null));
});

test("whatever a bucket answers that is not success counts as an unavailable sink (A2)", async () => {
  const memory = createMemoryObjectWriter();
  const failing = (write: ObjectWriter["write"]) => archivedBy({ ...memory, write });
  const unavailable = { code: "TG_SINK_UNAVAILABLE" };
  await expect(failing(async () => "conflict")).rejects.toMatchObject(unavailable);
  const refused = failing(async () => {
    throw new Error("AccessDenied");
  });
  await expect(refused).rejects.toMatchObject(unavailable);
  await expect(refused).rejects.toThrow(/was not archived in s3:\/\/kept\/.*AccessDenied/);
});

test("a masked message is stored without the hidden values, and not at all if its key is hidden", () => {
  const input = { ...INPUT, body: { id: "a", card: "***" }, attributes: { card: "***" } };
  const masked = archivedForm(RECORD, DELIVERY, { kind: "own", input });
  expect(masked).toMatchObject({ masked: true, dedupId: null, identity: "own:a" });
  expect(JSON.stringify(masked)).not.toContain("4111");
  const hidden = { kind: "own", input: { ...input, key: "***" } } as const;
  expect(archivedForm(RECORD, DELIVERY, hidden)).toBe(null);
});
