// GET /_tidegate/health: is the server there, and what is it?

import { adminReply } from "./admin-reply.ts";
import { type AdminCall, adminRoute } from "./admin-route.ts";

export const health = adminRoute({
  path: "health",
  summary: "whether the server answers, and for which account and region",
  methods: { GET: showHealth },
});

function showHealth({ site, options }: AdminCall) {
  return adminReply(200, {
    status: "ok",
    service: "tidegate",
    version: options.version ?? null,
    account: site.broker.account,
    region: site.broker.region,
    clock: options.virtualClock === undefined ? "system" : "virtual",
  });
}
