// GET /_tidegate/health: whether the server is up and healthy, and which account it serves.
//   H1. It does not call the broker, so a probe is cheap and never waits for the disk.
//   H2. It reports active injected faults, so that they are not mistaken for bugs.
//   H3. It reports a leap of the clock that is not confirmed, because nothing expires meanwhile.
//   H4. A server with a full disk is healthy: only its clients can empty it, so a load balancer
//       must not take it away from them, and a restart would not help.

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
  const { health, account, region, faults, clockLeap } = server.broker; // H1
  return adminReply(health === "failing" ? 503 : 200, {
    status: health,
    ...(health === "full" && { reason: DISK_FULL }), // H4
    service: "tidegate",
    version: options.version ?? null,
    account,
    region,
    clock: options.virtualClock === undefined ? "system" : "virtual",
    ...(clockLeap === null ? {} : { clockLeap }), // H3
    ...(faults.active ? { faults: faults.size } : {}),
  });
}
