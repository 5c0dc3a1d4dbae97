import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { durationMs, seconds } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import {
  conflictsIn,
  dynamoLedgerFault,
  dynamoOutboxFault,
} from "../../src/stores/dynamodb/faults.ts";
import { createDynamoLedger } from "../../src/stores/dynamodb/ledger.ts";
import { createDynamoOutbox } from "../../src/stores/dynamodb/outbox.ts";
import { createManualClock, FAR_AHEAD } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { useDynamo } from "../support/stores/database-servers.ts";
import { createLossyProxy } from "../support/stores/lossy-proxy.ts";
import { random } from "../support/stores/real-ports.ts";

const { available, endpoint, freshOptions } = await useDynamo();
const clock = createManualClock(FAR_AHEAD);
const ports = { clock, random };
const SCOPE = { pipeline: "orders", generation: 1 };
const LEASE = { owner: "w", leaseMs: seconds(30) };
const KEY = asRecordKey("a");
/** Each request has four tries of this, so that one slow answer does no harm. */
const requestMsMax = durationMs(400);
const UNAVAILABLE = { code: "TG_LEDGER_UNAVAILABLE", retry: "later" };

async function serve(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("a table whose endpoint takes requests", () => {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const connection = { table: "silent", region: "eu-west-1", credentials };

  test.each<[string, RequestListener]>([
    ["and says nothing", () => {}],
    [
      "and stops within the answer",
      (_, response) => {
        response.writeHead(200, { "content-type": "application/x-amz-json-1.0" });
        response.write('{"Item":');
      },
    ],
  ])("%s is unavailable, and no call waits forever", async (_, listener) => {
    await using server = await serve(listener);
    const options = { ...connection, endpoint: server.endpoint, requestMsMax };
    await expect(createDynamoLedger(ports, options)).rejects.toMatchObject(UNAVAILABLE);
    const outbox = createDynamoOutbox(ports, options);
    await expect(outbox).rejects.toMatchObject({ code: "TG_OUTBOX_UNAVAILABLE", retry: "later" });
  });

  test("and whose first connection is dead is retried on another", async () => {
    let requests = 0;
    await using server = await serve((_, response) => {
      requests += 1;
      if (requests === 1) return;
      response.end(JSON.stringify({ Item: { version: { N: "99" } } }));
    });
    const options = { ...connection, endpoint: server.endpoint, requestMsMax };
    const newer = { code: "TG_STORE_NEWER" };
    await expect(createDynamoLedger(ports, options)).rejects.toMatchObject(newer);
    expect(requests).toBe(2);
  });
});

test("a transaction in progress has an unknown outcome, and is not a write conflict", () => {
  const error = Object.assign(new Error("m"), { name: "TransactionInProgressException" });
  expect(conflictsIn(error)).toBeNull();
  expect(dynamoLedgerFault(error, "t")).toMatchObject(UNAVAILABLE);
  expect(dynamoOutboxFault(error, "t")).toMatchObject({ code: "TG_OUTBOX_UNAVAILABLE" });
});

test("a cancelled transaction returns the conflicting items, if it was a write conflict", () => {
  const cancelled = (...CancellationReasons: { Code: string; Item?: object }[]) =>
    Object.assign(new Error("m"), { name: "TransactionCanceledException", CancellationReasons });
  const item = { by: { S: "another" } };
  const race = cancelled({ Code: "None" }, { Code: "ConditionalCheckFailed", Item: item });
  const unknown = { returned: false, item: undefined };
  expect(conflictsIn(race)).toEqual([unknown, { returned: true, item }]);
  expect(conflictsIn(cancelled({ Code: "TransactionConflict" }))).toEqual([unknown]);
  const throttled = cancelled({ Code: "ConditionalCheckFailed" }, { Code: "ThrottlingError" });
  expect(conflictsIn(throttled)).toBeNull();
});

describe.skipIf(!available)("DynamoDB behind a network that swallows answers", () => {
  async function openLedger() {
    const options = freshOptions();
    await (await createDynamoLedger(ports, options)).close();
    const proxy = await createLossyProxy(endpoint);
    const through = { ...options, endpoint: proxy.endpoint, requestMsMax };
    const ledger = await createDynamoLedger(ports, through);
    const [claim] = await ledger.claim(
      SCOPE,
      [{ key: KEY, input: ANY_INPUT, receivedAt: clock.now() }],
      LEASE,
    );
    const fence = claim?.kind === "claimed" ? claim.fence : fenceOf(0);
    const close = async () => {
      await ledger.close();
      await proxy[Symbol.asyncDispose]();
    };
    return { ledger, proxy, commit: { key: KEY, fence, digest: "d" }, close };
  }

  test("a commit whose response was lost once finds itself done", async () => {
    const { ledger, proxy, commit, close } = await openLedger();
    proxy.silence("UpdateItem", 1);
    expect(await ledger.commit(SCOPE, [commit])).toEqual([{ kind: "committed" }]);
    expect(proxy.lost()).toBe(1);
    await close();
  });

  test("a commit that is never answered has an unknown outcome, and its retry counts once", async () => {
    const { ledger, proxy, commit, close } = await openLedger();
    proxy.silence("UpdateItem", Number.POSITIVE_INFINITY);
    await expect(ledger.commit(SCOPE, [commit])).rejects.toMatchObject(UNAVAILABLE);
    const done = await ledger.show(SCOPE, KEY);
    expect(done?.record.kind).toBe("committed");
    proxy.silence("UpdateItem", 0);
    expect(await ledger.commit(SCOPE, [commit])).toEqual([{ kind: "committed" }]);
    expect(await ledger.show(SCOPE, KEY)).toEqual(done);
    await close();
  });

  test("a direct commit with its object that is never answered is a duplicate when repeated", async () => {
    const { ledger, proxy, close } = await openLedger();
    const times = { input: ANY_INPUT, receivedAt: clock.now(), startedAt: clock.now() };
    const object = { bucket: "b", key: "k", sequencer: "01", removed: false };
    const direct = { key: asRecordKey("direct"), digest: "d", owner: "w", object, ...times };
    proxy.silence("TransactWriteItems", Number.POSITIVE_INFINITY);
    await expect(ledger.commitDirect(SCOPE, [direct])).rejects.toMatchObject(UNAVAILABLE);
    proxy.silence("TransactWriteItems", 0);
    expect(await ledger.commitDirect(SCOPE, [direct])).toMatchObject([{ kind: "duplicate" }]);
    await close();
  });

  test("a row taken from the outbox is leased though the response was lost", async () => {
    await using proxy = await createLossyProxy(endpoint);
    const options = freshOptions();
    await (await createDynamoOutbox(ports, options)).close();
    const through = { ...options, endpoint: proxy.endpoint, requestMsMax };
    const outbox = await createDynamoOutbox(ports, through);
    const entry = { key: "e", groupId: null, dedupId: "d", payloadDigest: "p" };
    await outbox.register("t", [{ ...entry, body: "b", attributes: {} }], LEASE);
    proxy.silence("PutItem", 1);
    expect(await outbox.take("t", 10, LEASE)).toMatchObject([{ key: "e", owner: "w" }]);
    expect(proxy.lost()).toBe(1);
    await outbox.close();
  });
});
