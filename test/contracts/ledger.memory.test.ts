import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { describeLedger } from "./ledger.ts";

describeLedger({
  name: "memory",
  async open(clock) {
    const ledger = createMemoryLedger({ clock });
    // Memory cannot be opened twice: sharing it means sharing the ledger itself.
    return { store: ledger, again: async () => ({ ...ledger, close: async () => {} }) };
  },
});
