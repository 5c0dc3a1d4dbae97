import { describe } from "vitest";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import { createDynamoLedger } from "../../src/stores/dynamodb/ledger.ts";
import { createDynamoOutbox } from "../../src/stores/dynamodb/outbox.ts";
import { useDynamo } from "../support/stores/database-servers.ts";
import { describeLedgerClocks, describeOutboxClocks } from "./store-clock.ts";

const { available, freshOptions } = await useDynamo();
const random = createSeededRandom(1);

describe.skipIf(!available)("DynamoDB", () => {
  describeLedgerClocks({
    name: "DynamoDB",
    async fresh() {
      const table = freshOptions();
      return ({ clock, ...options }) =>
        createDynamoLedger({ clock, random }, { ...table, ...options });
    },
  });

  describeOutboxClocks({
    name: "DynamoDB",
    async fresh() {
      const table = freshOptions();
      return ({ clock, ...options }) =>
        createDynamoOutbox({ clock, random }, { ...table, ...options });
    },
  });
});
