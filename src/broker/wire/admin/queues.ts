// GET /_tidegate/queues: every queue and how full it is.

import { adminFault, adminReply } from "./admin-reply.ts";
import { type AdminCall, adminRoute } from "./admin-route.ts";

export const queues = adminRoute({
  path: "queues",
  summary: "all queues with their counts; ?prefix= narrows them by name",
  methods: { GET: showQueues },
});

async function showQueues({ site, parameters }: AdminCall) {
  const prefix = parameters.get("prefix") ?? "";
  const outcome = await site.broker.submit("countQueues", { prefix });
  return outcome.ok ? adminReply(200, { queues: outcome.value.queues }) : adminFault(outcome.fault);
}
