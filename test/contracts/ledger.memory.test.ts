import type { Ledger } from "../../src/ports/ledger.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import type { StoreBinding } from "../support/stores/opened-store.ts";
import { describeLedger } from "./ledger.ts";
import { describeLedgerLists } from "./ledger-lists.ts";
import { describeRetention } from "./ledger-retention.ts";

const MEMORY: StoreBinding<Ledger> = {
  name: "memory",
  async open(clock) {
    const ledger = createMemoryLedger({ clock });
    // Memory cannot be opened twice: sharing it means sharing the ledger itself.
    return { store: ledger, again: async () => ({ ...ledger, close: async () => {} }) };
  },
};

describeLedger(MEMORY);
describeLedgerLists(MEMORY);
describeRetention(MEMORY);
