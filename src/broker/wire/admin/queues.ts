// GET /_tidegate/queues: every queue with its message counts.

import { adminFault, adminReply } from "./admin-reply.ts";
import { type AdminCall, adminRoute } from "./admin-route.ts";

export const queues = adminRoute({
  path: "queues",
  summary: "all queues with their message counts; ?prefix= filters by name",
  methods: { GET: showQueues },
});

async function showQueues({ server, parameters }: AdminCall) {
  const prefix = parameters.get("prefix") ?? "";
  const outcome = await server.broker.submit("countQueues", { prefix });
  return outcome.ok ? adminReply(200, { queues: outcome.value.queues }) : adminFault(outcome.fault);
}
