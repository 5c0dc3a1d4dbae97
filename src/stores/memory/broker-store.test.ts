import { describeBrokerStore } from "../../../test/contracts/broker-store.ts";
import { createMemoryBrokerStore } from "./broker-store.ts";

describeBrokerStore("memory", async () => ({
  open: async () => createMemoryBrokerStore(),
  reopen: async (store) => store, // Nothing survives the process: reopening means loading again.
  dispose: async () => {},
}));
