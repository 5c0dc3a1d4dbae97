// Replay of messages: a pipeline that archives its messages runs them again from the archive.

import { join } from "node:path";
import { expect, test } from "vitest";
import { PermanentError } from "../../../src/ingest/spec/handler-errors.ts";
import { findRowOrigin } from "../../../src/operate/lineage/row-lineage.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import {
  ARCHIVE,
  messagesPipeline,
  type Order,
  startMessageWorld,
} from "../../support/message-world.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("replay-messages");

test("archived messages are replayed as they were, compared and promoted; later live messages stay", async () => {
  await using world = await startMessageWorld(join(folder, "repair"), messagesPipeline(2));
  for (const id of ["a", "b"]) await world.send({ id, amount: 1 });
  await world.send({ id: "gone", amount: -1 }); // Skipped by the first code.
  await world.send({ id: "late", amount: 3 });
  const before = world.rows();
  expect(await world.archived()).toHaveLength(4);

  await using same = await world.replays(messagesPipeline(2));
  const unchanged = await same.start(world.request());
  expect(unchanged).toMatchObject({ state: "ready", entry: { inputs: 4, leftOut: {} } });
  const [none] = await same.diff(unchanged.entry.run, 5);
  expect(none).toMatchObject({ added: 0, removed: 0, changed: 0 }); // Same ids, uuids, attributes.
  await same.drop(unchanged.entry.run);

  // The fixed code negates, so "gone" gets a row, and the others lose theirs.
  await using replays = await world.replays(messagesPipeline(-1));
  const request = world.request();
  const { entry, state } = await replays.start(request);
  expect(state).toBe("ready");
  expect((await replays.start(request)).entry.run).toBe(entry.run);
  const [difference] = await replays.diff(entry.run, 10);
  expect(difference).toMatchObject({ added: 1, removed: 3, changed: 0 });
  expect(world.rows()).toEqual(before);
  await world.send({ id: "new", amount: 5 });
  expect(await replays.promote(entry.run)).toMatchObject({ messages: 4 });
  expect(world.amounts()).toEqual(["gone=1", "new=10"]);
});

test("a row that a newer message wrote keeps its live values", async () => {
  const keyed = {
    source: { queue: "orders", key: (order: unknown) => JSON.stringify(order) },
  };
  await using world = await startMessageWorld(join(folder, "newer"), messagesPipeline(2, keyed));
  await world.send({ id: "a", amount: 1 });
  await world.send({ id: "b", amount: 1 });
  await using replays = await world.replays(messagesPipeline(3, keyed));
  const { entry } = await replays.start(world.request());
  await world.send({ id: "a", amount: 7 });
  const [difference] = await replays.diff(entry.run, 10);
  expect(difference).toMatchObject({ added: 0, removed: 0, changed: 1 });
  await replays.promote(entry.run);
  expect(world.amounts()).toEqual(["a=14", "b=3"]);
  const ledger = await openLedger(world.ledger, systemPorts, { readOnly: true });
  const scopes = await ledger.stats();
  const writers = await Promise.all(
    ["a", "b"].map((id) => findRowOrigin(ledger, scopes, "orders", [id])),
  );
  await ledger.close();
  const generations = writers.map((row) => row.kind === "found" && row.origin?.scope.generation);
  expect(generations).toEqual([0, entry.generation]);
});

test("a message that corrects a dead letter of its key is promoted like any other", async () => {
  const correctable = (factor: number) =>
    messagesPipeline(factor, {
      handler({ body }: { body: Order }, { upsert }: { upsert: (...row: unknown[]) => void }) {
        const { id, amount } = body;
        if (amount === 0) throw new PermanentError("no amount", { class: "amount" });
        if (amount < 10 || factor === 2) upsert("orders", { id, amount: amount * factor });
      },
    });
  await using world = await startMessageWorld(join(folder, "corrected"), correctable(2));
  for (const id of ["a", "removed"]) await world.send({ id, amount: 0 });
  expect([world.amounts(), world.dev.snapshot().deadLettered]).toEqual([[], 2]);
  await world.send({ id: "a", amount: 1 }); // Sent later, so its own time is another one.
  await world.send({ id: "removed", amount: 10 });
  await world.send({ id: "b", amount: 1 });
  await using replays = await world.replays(correctable(3));
  const { entry } = await replays.start(world.request());
  const [difference] = await replays.diff(entry.run, 10);
  expect(difference).toMatchObject({ added: 0, removed: 1, changed: 2 });
  expect(await replays.promote(entry.run)).toMatchObject({ messages: 3 });
  expect(world.amounts()).toEqual(["a=3", "b=3"]);
});

test("a refused message is never archived, and a masked one is archived masked", async () => {
  const govern = (event: unknown) => {
    const { amount, card } = (event as { body: Order }).body;
    return amount > 100 ? "refuse" : card === undefined ? "allow" : "mask";
  };
  const governed = { govern, mask: ["card"] };
  await using world = await startMessageWorld(
    join(folder, "governed"),
    messagesPipeline(2, governed),
  );
  await world.send({ id: "plain", amount: 1 });
  await world.send({ id: "masked", amount: 2, card: "4111111111111111" });
  await world.send({ id: "refused", amount: 500, card: "4222222222222222" });
  const keys = await world.archived();
  expect(keys).toHaveLength(2);
  const texts = await Promise.all(
    keys.map(async (Key) => {
      const { Body } = await world.s3.getObject({ Bucket: ARCHIVE, Key });
      return (await Body?.transformToString()) ?? "";
    }),
  );
  expect(texts.join("")).not.toMatch(/4111111111111111|4222222222222222|refused/);
  expect(texts.filter((text) => text.includes('"masked":true'))).toHaveLength(1);
  await using replays = await world.replays(messagesPipeline(2, governed));
  const { entry, state } = await replays.start(world.request());
  expect([state, entry.inputs]).toEqual(["ready", 2]);
  const [difference] = await replays.diff(entry.run, 10);
  expect(difference).toMatchObject({ added: 0, removed: 0, changed: 0 });
});

test("a message is not acknowledged while its archive fails, and is committed once it answers", async () => {
  await using world = await startMessageWorld(join(folder, "down"), messagesPipeline(2));
  await world.s3.deleteBucket({ Bucket: ARCHIVE });
  const sent = world.send({ id: "a", amount: 1 });
  await expect.poll(() => world.dev.snapshot().returned).toBeGreaterThan(0);
  expect([world.amounts(), world.dev.snapshot().deadLettered]).toEqual([[], 0]);
  await world.s3.createBucket({ Bucket: ARCHIVE });
  await sent;
  expect([world.amounts(), (await world.archived()).length]).toEqual([["a=2"], 1]);
});
