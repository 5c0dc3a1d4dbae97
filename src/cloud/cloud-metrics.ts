// Cloud metrics: what the embedded cloud reports on /_tidegate/metrics.
//   K1. Depths and ages are read from the state at each scrape; nothing is measured in between.
//   K2. The action of a request is the client's text. It is a label only if it looks like a name;
//       otherwise it is "other", so that no client can fill the memory.
//   K3. Every request is counted, so the labels of a target are read once and kept; no more than
//       TARGETS_MAX of them, and no long ones, for the same reason.

import type { QueueCounts } from "../broker/model/operations.ts";
import type { TopicCounts } from "../broker/model/sns/topic-operations-contract.ts";
import { mediaTypeOf } from "../core/media-type-of.ts";
import type { Clock } from "../ports/clock.ts";
import type { HttpHandler, HttpRequest } from "../ports/http/http.ts";
import type { MetricTable } from "../ports/telemetry.ts";
import { createMetricRegistry } from "../telemetry/metric-registry.ts";
import {
  formatOpenMetrics,
  OPENMETRICS_CONTENT_TYPE,
  prefersOpenMetrics,
} from "../telemetry/openmetrics-text.ts";
import { formatMetrics, METRICS_CONTENT_TYPE } from "../telemetry/prometheus-text.ts";

/** The metrics of the embedded cloud. */
export const CLOUD_METRICS = {
  requests: {
    name: "tidegate_cloud_requests_total",
    kind: "counter",
    help: "Requests answered, by service, action and status; for S3, the action is the HTTP method.",
    labels: ["service", "action", "status"],
  },
  messages: {
    name: "tidegate_cloud_queue_messages",
    kind: "gauge",
    help: "Messages in a queue: visible, in_flight or delayed.",
    labels: ["queue", "state"],
  },
  oldest: {
    name: "tidegate_cloud_queue_oldest_message_seconds",
    kind: "gauge",
    help: "Age of the oldest message in a queue; 0 if it is empty.",
    labels: ["queue"],
  },
  subscriptions: {
    name: "tidegate_cloud_topic_subscriptions",
    kind: "gauge",
    help: "Confirmed subscriptions of a topic.",
    labels: ["topic"],
  },
  dropped: {
    name: "tidegate_cloud_topic_dropped",
    kind: "gauge",
    help: "Copies that no subscriber and no dead-letter queue accepted, since the start.",
    labels: ["topic"],
  },
  outgoing: {
    name: "tidegate_cloud_topic_outgoing",
    kind: "gauge",
    help: "Requests to HTTP endpoints of a topic that wait for their turn or for a retry.",
    labels: ["topic"],
  },
} as const satisfies MetricTable;

export interface CloudCounts {
  readonly queues: readonly QueueCounts[];
  readonly topics: readonly TopicCounts[];
}

export interface CloudMetrics {
  /** The same handler, with its requests counted. */
  counted(handler: HttpHandler): HttpHandler;
  /** The page, in the format that the Accept header asks for (K1). */
  page(counts: CloudCounts, accept: string | undefined): { text: string; type: string };
}

export function createCloudMetrics(clock: Pick<Clock, "now">): CloudMetrics {
  const requests = createMetricRegistry([{ requests: CLOUD_METRICS.requests }], () => undefined);
  const { requests: _, ...levels } = CLOUD_METRICS;
  const targets: Targets = new Map();
  return {
    counted: (handler) => (request) =>
      handler(request).then((reply) => {
        const { service, action } = namesOf(request, targets);
        const labels = { service, action, status: String(reply.status) };
        requests.count(CLOUD_METRICS.requests.name, 1, labels);
        return reply;
      }),
    page({ queues, topics }, accept) {
      // A new registry, so that deleted queues and topics disappear.
      const { gauge, families } = createMetricRegistry([levels], () => undefined);
      for (const { name: queue, visible, inFlight, delayed, oldestSentAt } of queues) {
        const states = { visible, in_flight: inFlight, delayed };
        for (const [state, count] of Object.entries(states)) {
          gauge(CLOUD_METRICS.messages.name, count, { queue, state });
        }
        const ageMs = oldestSentAt === null ? 0 : Math.max(0, clock.now() - oldestSentAt);
        gauge(CLOUD_METRICS.oldest.name, ageMs / 1_000, { queue });
      }
      for (const { name: topic, confirmed, dropped, outgoing } of topics) {
        gauge(CLOUD_METRICS.subscriptions.name, confirmed, { topic });
        gauge(CLOUD_METRICS.dropped.name, dropped, { topic });
        gauge(CLOUD_METRICS.outgoing.name, outgoing, { topic });
      }
      const all = [...requests.families(), ...families()];
      return prefersOpenMetrics(accept)
        ? { text: formatOpenMetrics(all), type: OPENMETRICS_CONTENT_TYPE }
        : { text: formatMetrics(all), type: METRICS_CONTENT_TYPE };
    },
  };
}

const ACTION = /^[A-Za-z]{1,64}$/;
const TARGETS_MAX = 256;
const TARGET_UNITS_MAX = 128;

interface RequestNames {
  readonly service: string;
  readonly action: string;
}

/** By the value of the header X-Amz-Target (K3). */
type Targets = Map<string, RequestNames>;

const ADMIN: RequestNames = { service: "admin", action: "other" };
const FORM: RequestNames = { service: "query", action: "form" };

/** The service and the action of a request, from its head alone (K2). */
function namesOf({ method, path, query, headers }: HttpRequest, targets: Targets): RequestNames {
  const target = headers["x-amz-target"];
  if (target !== undefined) return targets.get(target) ?? addTarget(targets, target);
  if (path.startsWith("/_tidegate")) return ADMIN;
  const action = query === "" ? undefined : ACTION_IN_QUERY.exec(query)?.[1];
  if (action !== undefined) return { service: "query", action };
  if (mediaTypeOf(headers) === "application/x-www-form-urlencoded") return FORM;
  return { service: "s3", action: ACTION.test(method) ? method : "other" };
}

const ACTION_IN_QUERY = /(?:^|&)Action=([A-Za-z]{1,64})(?:&|$)/;

function addTarget(targets: Targets, target: string): RequestNames {
  const [service = "", action = ""] = target.split(".");
  const name = /sqs/i.test(service) ? "sqs" : /sns/i.test(service) ? "sns" : "other";
  const names = { service: name, action: ACTION.test(action) ? action : "other" };
  const isKept = targets.size < TARGETS_MAX && target.length <= TARGET_UNITS_MAX;
  if (isKept) targets.set(target, names); // K3
  return names;
}
