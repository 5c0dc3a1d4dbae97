import { createMemoryOutbox } from "../../src/stores/memory/outbox.ts";
import { describeOutbox } from "./outbox.ts";

describeOutbox({
  name: "memory",
  async open(clock) {
    const outbox = createMemoryOutbox({ clock });
    return { store: outbox, again: async () => outbox };
  },
});
