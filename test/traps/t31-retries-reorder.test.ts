// T31: retrying failed entries of a FIFO batch one by one puts them behind later messages of their
// group.

import { describe, expect, test } from "vitest";
import type { SendOutcome } from "../../src/ports/queue.ts";
import { perEntity } from "../../src/produce/group-strategy.ts";
import { createProducer } from "../../src/produce/producer.ts";
import { createProducerWorld, event, passTime } from "../support/producer-world.ts";

const later: SendOutcome = { kind: "refused", code: "InternalError", message: "", retry: "later" };
const names = Array.from({ length: 12 }, (_, n) => `k${n}`);

async function sendThrough(entriesPerGroupMax: number) {
  const world = await createProducerWorld();
  const groups = perEntity(() => "one group");
  const producer = createProducer(world.ports, { groups, entriesPerGroupMax });
  let failures = 1;
  world.interfere = async (messages, send) => {
    failures -= 1;
    if (failures < 0) return send(messages);
    const rest = messages.slice(1);
    return [later, ...(rest.length === 0 ? [] : await send(rest))]; // The first entry fails once.
  };
  await passTime(world, Promise.all(names.map((name) => producer.send(event(name)))));
  const keys = (await world.messages()).map(({ body }) => body.dedupe_key);
  await world.cloud.close();
  return keys;
}

describe("T31: a retry keeps its position in the group", () => {
  test("a group sent ten per batch is reordered by one transient fault", async () => {
    expect(await sendThrough(10)).not.toEqual(names); // What the default keeps us from.
  });

  test("a group sent one by one arrives in order", async () => {
    expect(await sendThrough(1)).toEqual(names);
  });
});
