import { expect, test } from "vitest";
import { sha256Hex } from "../encoding/hash.ts";
import { epochMs } from "../units.ts";
import { type ArchivedMessage, decodeArchived, encodeArchived } from "./archived-message.ts";

const MESSAGE: ArchivedMessage = {
  identity: "own:orders:1",
  masked: false,
  body: '{"id":"ü\\u0000"}',
  attributes: { tenant: "a" },
  groupId: "g",
  dedupId: null,
  sentAt: epochMs(1_000),
  messageId: "m",
};
const NAMES = { prefix: "messages/orders/", recordKey: "k1:00ff" };

test("an archived message is read as it was stored, under a name with its hash (V1, V2)", () => {
  const { text, key } = encodeArchived(MESSAGE, NAMES);
  expect(key).toMatch(/^messages\/orders\/00ff\/[0-9a-f]{64}\.json$/);
  expect(decodeArchived(new TextEncoder().encode(text), key)).toMatchObject(MESSAGE);
  const reordered = Object.fromEntries(Object.entries(MESSAGE).reverse()) as typeof MESSAGE;
  expect(encodeArchived(reordered, NAMES).key).toBe(key);
});

test("other bytes under the name of a message are recognised (V2)", () => {
  const { text, key } = encodeArchived(MESSAGE, NAMES);
  const other = new TextEncoder().encode(text.replace("tenant", "tenanT"));
  expect(decodeArchived(other, key)).toBe("was changed: its bytes have another hash");
  expect(decodeArchived(new Uint8Array(), key)).toContain("was changed");
  for (const text of ["", "null", '{"format":"other"}']) {
    const name = `x/${sha256Hex(text)}.json`;
    expect(decodeArchived(new TextEncoder().encode(text), name)).toContain("is not of the format");
  }
});
