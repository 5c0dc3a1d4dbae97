// tidegate why by the names of an event: business key, event id, message id, part of an object.

import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";
import { PermanentError } from "../../ingest/spec/handler-errors.ts";
import { openOperator } from "../open-operator.ts";

async function names(world: Awaited<ReturnType<typeof createConsumerWorld>>, what: string) {
  const histories = await openOperator({ ledger: world.ledger }).history.find(what);
  return histories.map(({ about }) => about[0]);
}

test("a message is found by its business key, its event id, its message id, or a part of them", async () => {
  const ids: string[] = [];
  await using world = await createConsumerWorld({
    handler: ({ envelope }) => {
      ids.push(envelope.event_id);
      if (envelope.dedupe_key.startsWith("bad")) throw new PermanentError("no");
    },
  });
  for (const key of ["accounts-2026-02-28", "orders-7", "bad-9"]) await world.send(key);
  await world.consumer().start();
  await world.pass(2_000);
  for (const key of ["accounts-2026-02-28", "orders-7", "bad-9"]) {
    expect(await names(world, key)).toEqual([key]);
  }
  expect(await names(world, "2026-02")).toEqual(["accounts-2026-02-28"]);
  for (const id of ids) expect(await names(world, id)).toHaveLength(1);
  const [history] = await openOperator({ ledger: world.ledger }).history.find("orders-7");
  const messageId = history?.about.at(-1) ?? "";
  expect(await names(world, messageId)).toEqual(["orders-7"]);
  expect(await names(world, "no such name")).toEqual([]);
  // Other details of a record, such as its lane, are not names.
  expect(await names(world, "live")).toEqual([]);
});

test("an object is found by a part of its name, and masked names are not found", async () => {
  await using world = await createConsumerWorld({
    bucket: "files",
    pipeline: { mask: ["object.key"] },
  });
  await using open = await createConsumerWorld({ bucket: "files" });
  for (const each of [world, open]) {
    await each.put("2026/secret-name.csv", "x");
    await each.consumer().start();
    await each.pass(2_000);
  }
  expect(await names(open, "secret-na")).toEqual(["s3://files/2026/secret-name.csv"]);
  expect(await names(world, "secret-na")).toEqual([]);
});
