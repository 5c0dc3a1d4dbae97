// `tidegate/stores/memory`: stores that live as long as their process.

import type { Ledger } from "../../ports/ledger.ts";
import type { Outbox } from "../../ports/outbox.ts";
import * as ledger from "../../stores/memory/ledger.ts";
import * as outbox from "../../stores/memory/outbox.ts";
import { type PlainOptions, type SystemPorts, withSystemDefaults } from "../system-defaults.ts";

export type { Objects } from "../../ports/objects/objects.ts";
export { createMemoryObjects } from "../../stores/memory/objects.ts";
export type { Ledger, Outbox };

/** Options of `createMemoryLedger`; all have defaults. */
export type MemoryLedgerOptions = PlainOptions<Pick<ledger.MemoryLedgerOptions, "retentionMs">> &
  Pick<SystemPorts, "clock">;
/** Options of `createMemoryOutbox`; all have defaults. */
export type MemoryOutboxOptions = PlainOptions<outbox.MemoryOutboxOptions> &
  Pick<SystemPorts, "clock">;

/** A ledger that is lost with the process, for tests. */
export function createMemoryLedger(options: MemoryLedgerOptions = {}): Ledger {
  return ledger.createMemoryLedger(withSystemDefaults(options), options as object);
}

/** An outbox that is lost with the process, for tests. */
export function createMemoryOutbox(options: MemoryOutboxOptions = {}): Outbox {
  return outbox.createMemoryOutbox(withSystemDefaults(options), options as object);
}
