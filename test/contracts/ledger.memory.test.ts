import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { describeLedger } from "./ledger.ts";

describeLedger({
  name: "memory",
  async open(clock) {
    const ledger = createMemoryLedger({ clock });
    // Memory has no second opening: whoever shares it shares the ledger itself.
    return { store: ledger, again: async () => ({ ...ledger, close: async () => {} }) };
  },
});
