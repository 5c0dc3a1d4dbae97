// `tidegate/stores/dynamodb`: ledger and outbox in DynamoDB tables.

import type { Ledger } from "../../ports/ledger.ts";
import type { Outbox } from "../../ports/outbox.ts";
import * as ledger from "../../stores/dynamodb/ledger.ts";
import * as outbox from "../../stores/dynamodb/outbox.ts";
import { type PlainOptions, type SystemPorts, withSystemDefaults } from "../system-defaults.ts";

export type { Ledger, Outbox };

/** Options of `createDynamoLedger`; clock and random have defaults. */
export type DynamoLedgerOptions = PlainOptions<ledger.DynamoLedgerOptions> &
  Pick<SystemPorts, "clock" | "random">;
/** Options of `createDynamoOutbox`; clock and random have defaults. */
export type DynamoOutboxOptions = PlainOptions<outbox.DynamoOutboxOptions> &
  Pick<SystemPorts, "clock" | "random">;

/** Opens the ledger in a DynamoDB table. Creates a missing table unless `create` is false. */
export function createDynamoLedger(options: DynamoLedgerOptions): Promise<Ledger> {
  return ledger.createDynamoLedger(
    withSystemDefaults(options),
    options as ledger.DynamoLedgerOptions,
  );
}

/** Opens the outbox in a DynamoDB table, which it shares with nothing else. */
export function createDynamoOutbox(options: DynamoOutboxOptions): Promise<Outbox> {
  const { clock, random } = withSystemDefaults(options);
  const { clock: _clock, random: _random, ...rest } = options;
  return outbox.createDynamoOutbox({ clock, random }, rest as outbox.DynamoOutboxOptions);
}
