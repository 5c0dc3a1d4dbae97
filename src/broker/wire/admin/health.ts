// GET /_tidegate/health: whether the server is up and healthy, and which account it serves.
//   H1. It does not call the broker, so a probe is cheap and never waits for the disk.
//   H2. It reports active injected faults, so that they are not mistaken for bugs.
//   H3. It reports a leap of the clock that is not confirmed, because nothing expires meanwhile.
//   H4. It reports why the store fails, since when, and the disk space that it waits for.
//   H5. A server with a full disk is healthy: only its clients can empty it, so a load balancer
//       must not take it away from them, and a restart would not help.

import { formatInstant } from "../../../core/encoding/rfc3339.ts";
import type { BrokerHealth } from "../../engine/broker.ts";
import type { StoreOutage } from "../../engine/store-retry.ts";
import { adminReply } from "./admin-reply.ts";
import { type AdminCall, adminRoute } from "./admin-route.ts";

const DISK_FULL =
  "the disk is full: sends, publishes, uploads and new resources get 503; deletes, purges, receives and reads work";

export const health = adminRoute({
  path: "health",
  summary: "broker health, account and region; 503 if the store fails",
  methods: { GET: showHealth },
});

function showHealth({ server, options }: AdminCall) {
  const { health, account, region, faults, clockLeap, outage } = server.broker; // H1
  return adminReply(health === "failing" ? 503 : 200, {
    status: health,
    ...(health === "full" && { reason: DISK_FULL }), // H5
    service: "tidegate",
    version: options.version ?? null,
    account,
    region,
    clock: options.virtualClock === undefined ? "system" : "virtual",
    ...(outage === null ? {} : { store: storeOf(outage, health) }), // H4
    ...(clockLeap === null ? {} : { clockLeap }), // H3
    ...(faults.active ? { faults: faults.size } : {}),
  });
}

function storeOf({ since, reason, neededBytes, freeBytes }: StoreOutage, health: BrokerHealth) {
  return {
    since: formatInstant(since),
    reason,
    works:
      health === "full"
        ? "all that works on a full disk, until the store recovers by itself"
        : "health, metrics and faults; all else fails until the store recovers by itself",
    ...(neededBytes === undefined ? {} : { neededBytes, freeBytes }),
  };
}
