import { expect, test } from "vitest";
import { epochMs, seconds } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import { createDynamoLedger } from "../../src/stores/dynamodb/ledger.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { random } from "../support/stores/real-ports.ts";
import { createFakeDynamo } from "../support/traps/fake-dynamo.ts";
import { claimOne, commitOne, fenceIn, onEveryLedger } from "../support/traps/ledgers.ts";

const SCOPE = { pipeline: "orders", generation: 1 };

onEveryLedger("T7: a decision is never taken on an old read", (fresh) => {
  test("a claim right after a commit sees the commit", async () => {
    const world = fresh();
    expect(await commitOne(world, "a", fenceIn(await claimOne(world, "a")))).toBe("committed");
    expect(await claimOne(world, "a")).toMatchObject({ kind: "duplicate" });
  });
});

test("T7: on DynamoDB a fresh claim reads nothing, and other reads are consistent", async () => {
  await using dynamo = await createFakeDynamo();
  const clock = createManualClock(epochMs(1_700_000_000_000));
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const where = { table: "ledger", region: "eu-west-1", endpoint: dynamo.endpoint, credentials };
  const ledger = await createDynamoLedger({ clock, random }, { ...where, create: false });
  dynamo.requests.length = 0;
  const key = asRecordKey("a");
  const lease = { owner: "w", leaseMs: seconds(30) };
  await ledger.claim(SCOPE, [{ key, input: ANY_INPUT, receivedAt: clock.now() }], lease);
  expect(dynamo.requests.map(({ action }) => action)).toEqual(["PutItem"]);
  expect(dynamo.requests[0]?.body).toMatchObject({
    ConditionExpression: "attribute_not_exists(pk)",
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  });
  const object = { bucket: "b", key: "k", sequencer: "01" };
  await ledger.claim(
    SCOPE,
    [{ key: asRecordKey("b"), input: ANY_INPUT, receivedAt: clock.now(), object }],
    lease,
  );
  await ledger.show(SCOPE, key);
  const reads = dynamo.requests.filter(({ action }) => action === "GetItem");
  expect(reads).toHaveLength(2);
  for (const { body } of reads) expect(body.ConsistentRead).toBe(true);
  await ledger.close();
});

test("T7: on DynamoDB a rejected write is answered without a read", async () => {
  await using dynamo = await createFakeDynamo();
  const clock = createManualClock(epochMs(1_700_000_000_000));
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const where = { table: "ledger", region: "eu-west-1", endpoint: dynamo.endpoint, credentials };
  const ledger = await createDynamoLedger({ clock, random }, { ...where, create: false });
  const request = { key: asRecordKey("a"), input: ANY_INPUT, receivedAt: clock.now() };
  const lease = { owner: "w", leaseMs: seconds(30) };
  await ledger.claim(SCOPE, [request], lease);
  dynamo.requests.length = 0;
  expect(await ledger.claim(SCOPE, [request], lease)).toMatchObject([{ kind: "busy" }]);
  expect(dynamo.requests.map(({ action }) => action)).toEqual(["PutItem"]);
  await ledger.close();
});

test("a write that the SDK repeats after a lost response recognises itself and claims once", async () => {
  await using dynamo = await createFakeDynamo();
  const clock = createManualClock(epochMs(1_700_000_000_000));
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const where = { table: "ledger", region: "eu-west-1", endpoint: dynamo.endpoint, credentials };
  const ledger = await createDynamoLedger({ clock, random }, { ...where, create: false });
  dynamo.loseNextReply();
  const request = { key: asRecordKey("a"), input: ANY_INPUT, receivedAt: clock.now() };
  const lease = { owner: "w", leaseMs: seconds(30) };
  expect(await ledger.claim(SCOPE, [request], lease)).toMatchObject([
    { kind: "claimed", attempt: 1 },
  ]);
  expect(dynamo.requests.filter(({ action }) => action === "PutItem")).toHaveLength(2);
  await ledger.close();
});
