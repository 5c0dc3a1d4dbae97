// Sim outbox: the producers' outbox as one process accesses it, over the faulty network.

import type { Outbox, OutboxRow } from "../../ports/outbox.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { Service } from "./network.ts";
import { createProcessTime, type StoreCaller } from "./process-time.ts";
import { createCaller, type SimPorts } from "./sim-ports.ts";

export function createSimOutbox(
  ports: SimPorts,
  process: SimProcess,
  inner: Outbox,
  { service, caller }: { readonly service: Service; readonly caller: StoreCaller },
): Outbox {
  const remote = createCaller(ports, process, service, "TG_OUTBOX_UNAVAILABLE");
  const time = createProcessTime(process, caller);
  const timed = <T>(run: () => Promise<T>): Promise<T> => time.as(time.read(), run);
  const call = <T>(method: string, run: () => Promise<T>): Promise<T> =>
    remote(method, () => timed(run));
  const { history, names, holders } = ports;
  const held = <T>(method: string, run: () => Promise<T>): Promise<T> =>
    remote(method, () =>
      holders === undefined
        ? timed(run)
        : holders.run(process, `outbox.${method}`, [], () => timed(run)),
    );
  const addRepublished = ({ key, epoch }: OutboxRow) =>
    history.add(process.name, { kind: "republished", name: names.ofOutboxKey(key), epoch });
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
    take: (target, limit, lease) => held("take", () => inner.take(target, limit, lease)),
    markSent: (target, marks) => held("markSent", () => inner.markSent(target, marks)),
    markRefused: (target, marks) => call("markRefused", () => inner.markRefused(target, marks)),
    republish: (target, key, epoch, lease) =>
      call("republish", async () => {
        const result = await inner.republish(target, key, epoch, lease);
        if (result.kind === "taken") addRepublished(result.row);
        return result;
      }),
    // Faults are drawn by these two labels: others would change the world of every seed.
    sentNotDone: (target, page) => call("unsettled", () => inner.sentNotDone(target, page)),
    markDone: (target, keys) => call("settle", () => inner.markDone(target, keys)),
    find: (target, key) => call("find", () => inner.find(target, key)),
    stats: (target) => call("stats", () => inner.stats(target)),
    purge: (limit) => call("purge", () => inner.purge(limit)),
    openBatch: (target, input) => call("openBatch", () => inner.openBatch(target, input)),
    addBatchItems: (id, items) => call("addBatchItems", () => inner.addBatchItems(id, items)),
    sealBatch: (...batch) => call("sealBatch", () => inner.sealBatch(...batch)),
    openBatchItems: (id, page) => call("openBatchItems", () => inner.openBatchItems(id, page)),
    markItemsDone: (id, items) => call("markItemsDone", () => inner.markItemsDone(id, items)),
    countDoneItems: (id) => call("countDoneItems", () => inner.countDoneItems(id)),
    completeBatch: (...batch) => call("completeBatch", () => inner.completeBatch(...batch)),
    findBatch: (target, name) => call("findBatch", () => inner.findBatch(target, name)),
    listBatches: (target, page) => call("listBatches", () => inner.listBatches(target, page)),
    leap: () => time.leap(),
    close: async () => {},
  };
}
