import {
  DeleteItemCommand,
  DynamoDBClient,
  PutItemCommand,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { days, epochMs, seconds } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { RecordKey } from "../../src/ports/record.ts";
import { createDynamoLedger } from "../../src/stores/dynamodb/ledger.ts";
import { recordPk } from "../../src/stores/dynamodb/record-items.ts";
import { LEDGER } from "../../src/stores/dynamodb/schema.ts";
import { createManualClock, FAR_AHEAD } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { useDynamo } from "../support/stores/database-servers.ts";
import { createLossyProxy } from "../support/stores/lossy-proxy.ts";
import type { StoreBinding } from "../support/stores/opened-store.ts";
import { random } from "../support/stores/real-ports.ts";
import { describeLedger } from "./ledger.ts";
import { describeLedgerLists } from "./ledger-lists.ts";
import { describeRetention } from "./ledger-retention.ts";

const { available, endpoint, freshOptions } = await useDynamo();
const clock = createManualClock(FAR_AHEAD);

const LEASE = { owner: "w", leaseMs: seconds(30) };
const ASKED = { input: ANY_INPUT, receivedAt: clock.now() };

describe.skipIf(!available)("DynamoDB", () => {
  const bindingOf = (name: string, more: { readonly listing?: boolean }): StoreBinding<Ledger> => ({
    name,
    async open(on) {
      const options = { ...freshOptions(), ...more };
      const again = () => createDynamoLedger({ clock: on, random }, options);
      return { store: await again(), again };
    },
  });
  describeLedger(bindingOf("DynamoDB", {}));
  describeLedgerLists(bindingOf("DynamoDB with lists", { listing: true }));
  describeRetention(bindingOf("DynamoDB", {}));

  const others = [
    { other: 1, code: "TG_STORE_OLDER" },
    { other: LEDGER.version - 1, code: "TG_STORE_OLDER" },
    { other: LEDGER.version + 1, code: "TG_STORE_NEWER" },
  ];
  test.each(others)("a table of schema $other is refused and unchanged (V1)", async (each) => {
    const options = freshOptions();
    await (await createDynamoLedger({ clock, random }, options)).close();
    const client = new DynamoDBClient(options);
    const Item = { pk: { S: "meta#ledger" }, version: { N: String(each.other) } };
    await client.send(new PutItemCommand({ TableName: options.table, Item }));
    const items = async () =>
      (await client.send(new ScanCommand({ TableName: options.table }))).Items;
    const before = await items();
    const opening = createDynamoLedger({ clock, random }, options);
    await expect(opening).rejects.toMatchObject({ code: each.code });
    expect(await items()).toEqual(before);
    client.destroy();
  });

  test("a table that was created without lists says so, and keeps none (M2)", async () => {
    const options = freshOptions();
    const ledger = await createDynamoLedger({ clock, random }, options);
    const scope = { pipeline: "orders", generation: 1 };
    const listing = ledger.listRecords(scope, { by: "event-time" }, { after: null, limit: 1 });
    await expect(listing).rejects.toMatchObject({ code: "TG_LISTING_OFF" });
    await ledger.claim(scope, [{ key: asRecordKey("a"), ...ASKED }], LEASE);
    const client = new DynamoDBClient(options);
    const { Items = [] } = await client.send(new ScanCommand({ TableName: options.table }));
    expect(
      Items.flatMap((item) => Object.keys(item)).filter((name) => /^l[p-]/.test(name)),
    ).toEqual([]);
    await ledger.close();
    const asked = createDynamoLedger({ clock, random }, { ...options, listing: true });
    await expect(asked).rejects.toMatchObject({ code: "TG_LISTING_OFF" });
    client.destroy();
  });

  test("a writer that does not ask for lists writes them into a table that has them (M2)", async () => {
    const options = freshOptions();
    await (await createDynamoLedger({ clock, random }, { ...options, listing: true })).close();
    const ledger = await createDynamoLedger({ clock, random }, options);
    const scope = { pipeline: "orders", generation: 1 };
    await ledger.claim(scope, [{ key: asRecordKey("a"), ...ASKED }], LEASE);
    const page = { after: null, limit: 1 };
    const { records } = await ledger.listRecords(scope, { by: "event-time" }, page);
    expect(records).toMatchObject([{ key: "a", record: { kind: "claimed" } }]);
    await ledger.close();
  });

  test("a missing table is distinguished from an unavailable endpoint", async () => {
    const options = { ...freshOptions(), create: false };
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
    const attempt = {
      key: asRecordKey("a"),
      fence: null,
      owner: "w",
      input: ANY_INPUT,
      receivedAt: clock.now(),
    };
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
      other.claim(scope, [{ key, input: ANY_INPUT, receivedAt: own.now() }], {
        owner: "w",
        leaseMs: seconds(30),
      });
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
    const ask = (key: RecordKey) => ({ key, input: ANY_INPUT, receivedAt: clock.now() });
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
    const [claim] = await ledger.claim(
      scope,
      [{ key, input: ANY_INPUT, receivedAt: clock.now() }],
      lease,
    );
    if (claim?.kind !== "claimed") throw new Error("not claimed");
    const writes = [{ statement: "INSERT", params: [] }];
    const commit = ledger.commit(scope, [{ key, fence: claim.fence, digest: "d", writes }]);
    await expect(commit).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
    expect((await ledger.show(scope, key))?.record.kind).toBe("claimed");
    await ledger.close();
  });
});
