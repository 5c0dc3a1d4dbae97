import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { seconds } from "../../src/core/units.ts";
import { createDynamoOutbox } from "../../src/stores/dynamodb/outbox.ts";
import { createManualClock, FAR_AHEAD } from "../support/manual-clock.ts";
import { useDynamo } from "../support/stores/database-servers.ts";
import { random } from "../support/stores/real-ports.ts";
import { describeOutbox } from "./outbox.ts";

const { available, freshOptions } = await useDynamo();
const clock = createManualClock(FAR_AHEAD);

describe.skipIf(!available)("DynamoDB", () => {
  describeOutbox({
    name: "DynamoDB Local",
    async open(on) {
      const options = freshOptions();
      const again = () => createDynamoOutbox({ clock: on, random }, options);
      return { store: await again(), again };
    },
  });

  test("a table with a newer schema is rejected", async () => {
    const options = freshOptions();
    await (await createDynamoOutbox({ clock, random }, options)).close();
    const client = new DynamoDBClient(options);
    const Item = { pk: { S: "meta#outbox" }, sk: { S: "meta" }, version: { N: "99" } };
    await client.send(new PutItemCommand({ TableName: options.table, Item }));
    client.destroy();
    const opening = createDynamoOutbox({ clock, random }, options);
    await expect(opening).rejects.toMatchObject({ code: "TG_STORE_NEWER" });
  });

  test("an unavailable endpoint and a row too large for an item give one clear error each", async () => {
    const down = { ...freshOptions(), endpoint: "http://127.0.0.1:1" };
    await expect(createDynamoOutbox({ clock, random }, down)).rejects.toMatchObject({
      code: "TG_OUTBOX_UNAVAILABLE",
    });
    const nameless = createDynamoOutbox({ clock, random }, { ...freshOptions(), table: "a b" });
    await expect(nameless).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
    const outbox = await createDynamoOutbox({ clock, random }, freshOptions());
    const entry = { key: "k", groupId: null, dedupId: "d", payloadDigest: "p", attributes: {} };
    const lease = { owner: "o", leaseMs: seconds(1) };
    const big = outbox.register("q", [{ ...entry, body: "x".repeat(450_000) }], lease);
    await expect(big).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
    expect(await outbox.find("q", "k")).toBeUndefined();
    await outbox.close();
  });
});
