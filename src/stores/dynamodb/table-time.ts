// Table time: the time of a DynamoDB table, which has no clock that a request could read.
//   C1. The AWS SDK compares the Date of every response with the system clock, because AWS rejects
//       signatures that are five minutes off. The same offset corrects the time of the table, for
//       leases, stamps and the time to live.
//   C2. StoreTime judges the rest, for services that send no Date. The mark is one item, read at
//       the start and moved on at most every ten minutes.

import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { durationMs, epochMs, minutes } from "../../core/units.ts";
import {
  type LedgerInstant,
  StoreTime,
  type StoreTimeOptions,
  type TimeMark,
} from "../../ledger/store-time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DynamoItem } from "./faults.ts";

/** A Date has whole seconds, so smaller offsets say nothing. */
const OFFSET_MS_MIN = minutes(5);

function correctionMs(offsetMs: number): number {
  return Math.abs(offsetMs) >= OFFSET_MS_MIN ? offsetMs : 0;
}

export class TableTime {
  readonly time: StoreTime;
  readonly #client: DynamoDBClient;
  readonly #table: string;
  readonly #key: DynamoItem;
  #moving: Promise<void> | null = null;

  constructor(
    client: DynamoDBClient,
    { table, key }: { readonly table: string; readonly key: DynamoItem },
    { clock, ...options }: StoreTimeOptions & { readonly clock: Clock },
  ) {
    this.#client = client;
    this.#table = table;
    this.#key = key;
    const now = () => epochMs(clock.now() + correctionMs(client.config.systemClockOffset)); // C1
    const monotonic = () => clock.monotonic();
    this.time = new StoreTime(clock, options, clock.virtual ? clock : { now, monotonic });
  }

  async open(): Promise<void> {
    if (this.time.isMarkDue()) this.time.continueFrom(await this.#stored());
  }

  /** The time for a call that writes; moves the mark on if it is due. */
  async readToWrite(): Promise<LedgerInstant> {
    if (this.time.isMarkDue()) {
      this.#moving ??= this.#move().finally(() => {
        this.#moving = null;
      });
      await this.#moving;
    }
    return this.time.read();
  }

  async #stored(): Promise<TimeMark | null> {
    const command = { TableName: this.#table, Key: this.#key, ConsistentRead: true };
    const { Item } = await this.#client.send(new GetItemCommand(command));
    if (Item === undefined) return null;
    const { at, waited } = Item;
    return { at: epochMs(Number(at?.N)), waitedMs: durationMs(Number(waited?.N ?? 0)) };
  }

  async #move(): Promise<void> {
    const { at, waitedMs } = this.time.exchange(await this.#stored());
    const Item = { ...this.#key, at: { N: String(at) }, waited: { N: String(waitedMs) } };
    await this.#client.send(new PutItemCommand({ TableName: this.#table, Item }));
  }
}
