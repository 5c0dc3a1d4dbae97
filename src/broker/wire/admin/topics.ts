// GET /_tidegate/topics: every topic with its counts.

import { adminFault, adminReply } from "./admin-reply.ts";
import { type AdminCall, adminRoute } from "./admin-route.ts";

export const topics = adminRoute({
  path: "topics",
  summary: "all topics with their subscription and drop counts; ?prefix= filters by name",
  methods: { GET: countTopics },
});

async function countTopics({ server, request, parameters }: AdminCall) {
  const prefix = parameters.get("prefix") ?? "";
  const outcome = await server.broker.submit("countTopics", { prefix }, request.signal);
  return outcome.ok ? adminReply(200, outcome.value) : adminFault(outcome.fault);
}
