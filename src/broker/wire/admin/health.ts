// GET /_tidegate/health: is the server there, does it work, and what is it?
//   H1. It asks nothing of the broker, so that a probe costs nothing and never waits for a disk.
//   H2. Faults that were asked for are told, so that nobody hunts for them as bugs.

import { adminReply } from "./admin-reply.ts";
import { type AdminCall, adminRoute } from "./admin-route.ts";

export const health = adminRoute({
  path: "health",
  summary: "whether the broker works, and for which account and region; 503 if its store fails",
  methods: { GET: showHealth },
});

function showHealth({ site, options }: AdminCall) {
  const { healthy, account, region, faults } = site.broker; // H1
  return adminReply(healthy ? 200 : 503, {
    status: healthy ? "ok" : "failing",
    service: "tidegate",
    version: options.version ?? null,
    account,
    region,
    clock: options.virtualClock === undefined ? "system" : "virtual",
    ...(faults.active ? { faults: faults.size } : {}),
  });
}
