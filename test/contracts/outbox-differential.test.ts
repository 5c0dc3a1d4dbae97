// Random histories through memory, SQLite, PostgreSQL and DynamoDB: all give the same answers.

import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { durationMs, seconds } from "../../src/core/units.ts";
import type { Outbox, OutboxRow } from "../../src/ports/outbox.ts";
import { createDynamoOutbox } from "../../src/stores/dynamodb/outbox.ts";
import { createMemoryOutbox } from "../../src/stores/memory/outbox.ts";
import { createPostgresOutbox } from "../../src/stores/postgres/outbox.ts";
import { createSqliteOutbox } from "../../src/stores/sqlite/ledger/outbox.ts";
import { createManualClock, FAR_AHEAD, type ManualClock } from "../support/manual-clock.ts";
import { useDynamo, usePostgres } from "../support/stores/database-servers.ts";
import { random } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const folder = useTemporaryFolder("outbox-differential");
const postgres = await usePostgres();
const dynamo = await useDynamo();
const table = dynamo.freshOptions();

async function openAll(clock: ManualClock): Promise<Outbox[]> {
  const all = [
    createMemoryOutbox({ clock }),
    createSqliteOutbox({ clock }, { path: join(folder, "outbox.db") }),
  ];
  if (postgres.available) all.push(await createPostgresOutbox({ clock }, { url: postgres.url }));
  if (dynamo.available) {
    all.push(await createDynamoOutbox({ clock, random }, table));
  }
  return all;
}

const key = fc.constantFrom("a", "b", "c", "d");
const owner = fc.constantFrom("one", "two");
const epoch = fc.integer({ min: 0, max: 2 });
const batchId = fc.constantFrom("1", "1", "2");
const batchNames = fc.array(fc.constantFrom("p", "q"), { maxLength: 2 });
const anyCall = fc.oneof(
  fc.record({
    call: fc.constant("register" as const),
    entries: fc.array(fc.record({ key, digest: fc.constantFrom("x", "x", "y") }), { maxLength: 4 }),
    owner,
  }),
  fc.record({ call: fc.constant("take" as const), limit: fc.integer({ min: 1, max: 3 }), owner }),
  fc.record({ call: fc.constant("sent" as const), key, epoch }),
  fc.record({ call: fc.constant("refused" as const), key, epoch }),
  fc.record({ call: fc.constant("republish" as const), key, epoch, owner }),
  fc.record({ call: fc.constant("settle" as const), key }),
  fc.record({ call: fc.constant("look" as const), key }),
  fc.record({ call: fc.constant("unsettled" as const) }),
  fc.record({
    call: fc.constant("open batch" as const),
    id: batchId,
    digest: fc.constantFrom("x", "x", "y"),
    replace: fc.boolean(),
  }),
  fc.record({ call: fc.constant("add items" as const), id: batchId, names: batchNames }),
  fc.record({ call: fc.constant("done items" as const), id: batchId, names: batchNames }),
  fc.record({ call: fc.constant("seal" as const), id: batchId }),
  fc.record({ call: fc.constant("complete" as const), id: batchId }),
  fc.record({ call: fc.constant("wait" as const), spanS: fc.constantFrom(1, 30, 86_400 * 45) }),
);
type Call = typeof anyCall extends fc.Arbitrary<infer T> ? T : never;

const withoutSeq = (row: OutboxRow | undefined) => row && { ...row, seq: 0 };

async function run(outbox: Outbox, target: string, call: Call, now: ManualClock) {
  const lease = (name: string) => ({ owner: name, leaseMs: seconds(30) });
  switch (call.call) {
    case "register": {
      const entries = call.entries.map(({ key: name, digest }) => ({
        key: name,
        groupId: name < "c" ? "g" : null,
        dedupId: name,
        payloadDigest: digest,
        body: `${name} ${digest}`,
        attributes: { t: name },
      }));
      const results = await outbox.register(target, entries, lease(call.owner));
      return results.map((result) =>
        result.kind === "taken" ? { ...result, row: withoutSeq(result.row) } : result,
      );
    }
    case "take":
      return (await outbox.take(target, call.limit, lease(call.owner))).map(withoutSeq);
    case "sent":
      return outbox.markSent(target, [{ key: call.key, epoch: call.epoch, messageId: "m" }]);
    case "refused":
      return outbox.markRefused(target, [{ key: call.key, epoch: call.epoch, reason: "r" }]);
    case "republish": {
      const won = await outbox.republish(target, call.key, call.epoch, lease(call.owner));
      return won.kind === "taken" ? withoutSeq(won.row) : won;
    }
    case "settle":
      return outbox.markDone(target, [call.key]);
    case "look":
      return [withoutSeq(await outbox.find(target, call.key)), await outbox.stats(target)];
    case "unsettled": {
      const page = { sentBefore: now.now(), afterSeq: 0, limit: 10 };
      return (await outbox.sentNotDone(target, page)).map(withoutSeq);
    }
    case "wait":
      return null;
    default:
      return await runOnBatch(outbox, target, call);
  }
}

type BatchCall = Extract<Call, { readonly id: string }>;

/** The answer, and the batch with its open and done items afterwards. */
async function runOnBatch(outbox: Outbox, target: string, call: BatchCall) {
  const id = `${target} ${call.id}`;
  const name = "batch";
  const items = "names" in call ? call.names.map((each) => ({ name: each, key: each })) : [];
  const answer = async () => {
    switch (call.call) {
      case "open batch": {
        const { digest, replace } = call;
        return await outbox.openBatch(target, { name, id, itemCount: 2, digest, replace });
      }
      case "add items":
        return await outbox.addBatchItems(id, items);
      case "done items":
        return await outbox.markItemsDone(id, items);
      case "seal":
        return await outbox.sealBatch(target, name, id);
      case "complete":
        return await outbox.completeBatch(target, name, id);
    }
  };
  return [
    await answer(),
    await outbox.findBatch(target, name),
    await outbox.listBatches(target, { after: null, limit: 10 }),
    await outbox.openBatchItems(id, { after: null, limit: 10 }),
    await outbox.countDoneItems(id),
  ];
}

test("every store gives the same answers to the same history", async () => {
  const clock = createManualClock(FAR_AHEAD);
  const stores = await openAll(clock);
  let histories = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyCall, { minLength: 10, maxLength: 30 }), async (history) => {
      histories += 1;
      for (const call of history) {
        if (call.call === "wait") clock.advance(durationMs(call.spanS * 1_000));
        const answers: unknown[] = [];
        for (const store of stores) answers.push(await run(store, `q${histories}`, call, clock));
        for (const answer of answers) expect(answer).toEqual(answers[0]);
      }
    }),
    { numRuns: 40, endOnFailure: true },
  );
  for (const store of stores) await store.close();
});
