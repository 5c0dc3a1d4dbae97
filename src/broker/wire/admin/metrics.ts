// GET /_tidegate/metrics: the metrics of the embedded cloud, for Prometheus.

import { adminError, adminFault } from "./admin-reply.ts";
import { type AdminCall, adminRoute } from "./admin-route.ts";

export const metrics = adminRoute({
  path: "metrics",
  summary: "requests, queue depths and ages, in the text format of Prometheus or OpenMetrics",
  methods: { GET: showMetrics },
});

async function showMetrics({ server, options, request }: AdminCall) {
  if (options.metrics === undefined) {
    return adminError(404, "NoMetrics", "this broker was opened without metrics");
  }
  const all = { prefix: "" };
  const queues = await server.broker.submit("countQueues", all, request.signal);
  if (!queues.ok) return adminFault(queues.fault);
  const topics = await server.broker.submit("countTopics", all, request.signal);
  if (!topics.ok) return adminFault(topics.fault);
  const counts = { queues: queues.value.queues, topics: topics.value.topics };
  const { text, type } = options.metrics(counts, request.headers.accept);
  const headers = ["Content-Type", type, "Cache-Control", "no-store"];
  return { status: 200, headers, body: text };
}
