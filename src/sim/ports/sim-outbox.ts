// Sim outbox: the producers' outbox as one process accesses it, over the faulty network.

import type { Outbox } from "../../ports/outbox.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { Service } from "./network.ts";
import { createCaller, type SimPorts } from "./sim-ports.ts";

export function createSimOutbox(
  ports: SimPorts,
  process: SimProcess,
  inner: Outbox,
  service: Service,
): Outbox {
  const call = createCaller(ports, process, service, "TG_OUTBOX_UNAVAILABLE");
  const { history, names } = ports;
  return {
    register: (target, entries, lease) =>
      call("register", async () => {
        const results = await inner.register(target, entries, lease);
        for (const [at, result] of results.entries()) {
          const entry = entries[at];
          if (result.kind !== "taken" || entry === undefined) continue;
          const name = names.ofOutboxKey(entry.key);
          history.add(process.name, { kind: "registered", name, group: entry.groupId });
        }
        return results;
      }),
    take: (target, limit, lease) => call("take", () => inner.take(target, limit, lease)),
    markSent: (target, marks) => call("markSent", () => inner.markSent(target, marks)),
    markRefused: (target, marks) => call("markRefused", () => inner.markRefused(target, marks)),
    republish: (target, key, epoch, lease) =>
      call("republish", () => inner.republish(target, key, epoch, lease)),
    unsettled: (target, page) => call("unsettled", () => inner.unsettled(target, page)),
    // Faults are drawn by this label: another one would change the world of every seed.
    markDone: (target, keys) => call("settle", () => inner.markDone(target, keys)),
    find: (target, key) => call("find", () => inner.find(target, key)),
    stats: (target) => call("stats", () => inner.stats(target)),
    purge: (limit) => call("purge", () => inner.purge(limit)),
    close: async () => {},
  };
}
