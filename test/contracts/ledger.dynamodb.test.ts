import {
  CreateTableCommand,
  DeleteItemCommand,
  DynamoDBClient,
  PutItemCommand,
} from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { addMs, days, epochMs, seconds } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import type { RecordKey } from "../../src/ports/record.ts";
import { createDynamoLedger } from "../../src/stores/dynamodb/ledger.ts";
import { dynamoLedger0001 } from "../../src/stores/dynamodb/migrations/0001-ledger.ts";
import { recordPk, toRecordItem } from "../../src/stores/dynamodb/record-items.ts";
import { createManualClock, FAR_AHEAD } from "../support/manual-clock.ts";
import { useDynamo } from "../support/stores/database-servers.ts";
import { createLossyProxy } from "../support/stores/lossy-proxy.ts";
import { random } from "../support/stores/real-ports.ts";
import { describeLedger } from "./ledger.ts";

const { available, endpoint, freshOptions } = await useDynamo();
const clock = createManualClock(FAR_AHEAD);

describe.skipIf(!available)("DynamoDB", () => {
  // First: DynamoDB Local builds an index more slowly the more tables it has.
  test("a table of the first schema keeps its records and gets notes", async () => {
    const options = freshOptions();
    const client = new DynamoDBClient(options);
    await client.send(new CreateTableCommand(dynamoLedger0001(options.table)));
    const Item = { pk: { S: "meta#ledger" }, version: { N: "1" } };
    await client.send(new PutItemCommand({ TableName: options.table, Item }));
    const scope = { pipeline: "orders", generation: 1 };
    const record = {
      kind: "claimed",
      ...{ fence: fenceOf(7), attempts: 1, seenAt: clock.now(), changedAt: clock.now() },
      ...{ expiresAt: addMs(clock.now(), days(45)), owner: "w", leaseUntil: clock.now() },
    } as const;
    const key = asRecordKey("a");
    const row = toRecordItem(recordPk(scope, key), record, "", "former");
    await client.send(new PutItemCommand({ TableName: options.table, Item: row }));

    const careful = createDynamoLedger({ clock, random }, { ...options, migrate: false });
    await expect(careful).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
    const opening = Array.from({ length: 3 }, () => createDynamoLedger({ clock, random }, options));
    const [ledger, ...others] = await Promise.all(opening);
    for (const other of others) await other.close();
    expect((await ledger?.show(scope, key))?.record).toEqual(record);
    const note = { kind: "dossier", name: "a", at: clock.now(), count: 1, body: "why" } as const;
    await ledger?.addNotes(scope, [note]);
    expect(await ledger?.listNotes(scope, "dossier", { after: null, limit: 2 })).toEqual([note]);
    const commit = { key, fence: record.fence, digest: "d" };
    expect(await ledger?.commit(scope, [commit])).toEqual([{ kind: "committed" }]);
    await ledger?.close();
    client.destroy();
  });

  describeLedger({
    name: "DynamoDB Local",
    async open(on) {
      const options = freshOptions();
      const again = () => createDynamoLedger({ clock: on, random }, options);
      return { store: await again(), again };
    },
  });

  test("a table with a newer schema is rejected", async () => {
    const options = freshOptions();
    await (await createDynamoLedger({ clock, random }, options)).close();
    const client = new DynamoDBClient(options);
    const Item = { pk: { S: "meta#ledger" }, version: { N: "99" } };
    await client.send(new PutItemCommand({ TableName: options.table, Item }));
    client.destroy();
    const opening = createDynamoLedger({ clock, random }, options);
    await expect(opening).rejects.toMatchObject({ code: "TG_STORE_NEWER" });
  });

  test("a missing table is distinguished from an unavailable endpoint", async () => {
    const options = { ...freshOptions(), migrate: false };
    const missing = createDynamoLedger({ clock, random }, options);
    await expect(missing).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
    const nowhere = { ...options, endpoint: "http://127.0.0.1:1" };
    const down = createDynamoLedger({ clock, random }, nowhere);
    await expect(down).rejects.toMatchObject({ code: "TG_LEDGER_UNAVAILABLE" });
  });

  test("a note whose response was lost is counted once when the SDK retries", async () => {
    await using proxy = await createLossyProxy(endpoint);
    const options = freshOptions();
    await (await createDynamoLedger({ clock, random }, options)).close();
    const through = { ...options, endpoint: proxy.endpoint };
    const ledger = await createDynamoLedger({ clock, random }, through);
    const scope = { pipeline: "orders", generation: 1 };
    const note = (at: number, body: string) =>
      ({ kind: "dossier", name: "a", at: epochMs(at), count: 1, body }) as const;
    const notes = [note(5, "first"), note(6, "newer"), note(4, "older")];
    for (const [at, added] of notes.entries()) {
      proxy.loseNext("UpdateItem");
      await ledger.addNotes(scope, [added]);
      expect(proxy.lost()).toBe(at + 1);
    }
    expect(await ledger.findNote(scope, "dossier", "a")).toEqual({ ...note(6, "newer"), count: 3 });
    proxy.loseNext("TransactWriteItems");
    const failure = { errorClass: "schema", fingerprint: "f", message: "m" };
    const attempt = { key: asRecordKey("a"), fence: null, owner: "w", receivedAt: clock.now() };
    const last = { ...attempt, permanent: false, failure, note: note(7, "failed") };
    expect(await ledger.fail(scope, [last])).toMatchObject([{ kind: "failed", attempts: 1 }]);
    expect(proxy.lost()).toBe(4);
    expect(await ledger.findNote(scope, "dossier", "a")).toEqual({
      ...note(7, "failed"),
      count: 4,
    });
    await ledger.close();
  });

  test("a purge spares an item that was deleted and created again in the meantime", async () => {
    await using proxy = await createLossyProxy(endpoint);
    const options = freshOptions();
    const own = createManualClock(FAR_AHEAD);
    const other = await createDynamoLedger({ clock: own, random }, options);
    const through = { ...options, endpoint: proxy.endpoint };
    const ours = await createDynamoLedger({ clock: own, random }, through);
    const client = new DynamoDBClient(options);
    const scope = { pipeline: "orders", generation: 1 };
    const key = asRecordKey("a");
    const claim = () =>
      other.claim(scope, [{ key, receivedAt: own.now() }], { owner: "w", leaseMs: seconds(30) });
    await claim();
    own.advance(days(46));
    proxy.meanwhile(0, async () => {
      const Key = { pk: { S: recordPk(scope, key) } };
      await client.send(new DeleteItemCommand({ TableName: options.table, Key }));
      expect(await claim()).toMatchObject([{ kind: "claimed", attempt: 1 }]);
    });
    expect(await ours.purge(10)).toBe(0);
    expect((await ours.show(scope, key))?.record.kind).toBe("claimed");
    client.destroy();
    await Promise.all([other.close(), ours.close()]);
  });

  test("claims of a failed batch are released and do not count as attempts", async () => {
    const options = freshOptions();
    const ledger = await createDynamoLedger({ clock, random }, options);
    const scope = { pipeline: "orders", generation: 1 };
    const damaged = asRecordKey("damaged");
    const client = new DynamoDBClient(options);
    const Item = { pk: { S: recordPk(scope, damaged) }, by: { S: "nobody" } };
    await client.send(new PutItemCommand({ TableName: options.table, Item }));
    client.destroy();
    const keys = Array.from({ length: 40 }, (_, n) => asRecordKey(`${n}`));
    const ask = (key: RecordKey) => ({ key, receivedAt: clock.now() });
    const lease = { owner: "w", leaseMs: seconds(30) };
    const batch = [...keys.slice(0, 20), damaged, ...keys.slice(20)].map(ask);
    await expect(ledger.claim(scope, batch, lease)).rejects.toThrow("the state of a record");
    const again = await ledger.claim(scope, keys.map(ask), lease);
    expect(again).toEqual(keys.map(() => expect.objectContaining({ kind: "claimed", attempt: 1 })));
    await ledger.close();
  });

  test("sink writes are rejected, as the store cannot commit them", async () => {
    const ledger = await createDynamoLedger({ clock, random }, freshOptions());
    const scope = { pipeline: "orders", generation: 1 };
    const key = asRecordKey("a");
    const lease = { owner: "w", leaseMs: seconds(30) };
    const [claim] = await ledger.claim(scope, [{ key, receivedAt: clock.now() }], lease);
    if (claim?.kind !== "claimed") throw new Error("not claimed");
    const writes = [{ statement: "INSERT", params: [] }];
    const commit = ledger.commit(scope, [{ key, fence: claim.fence, digest: "d", writes }]);
    await expect(commit).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
    expect((await ledger.show(scope, key))?.record.kind).toBe("claimed");
    await ledger.close();
  });
});
