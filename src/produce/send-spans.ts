// Send spans: the spans and counts of a producer, by OpenTelemetry's messaging conventions.
//   P1. `create` is one span per event, and its context travels with the message. `send` or
//       `publish` is one span per request, with a link to each create; so a row that a relay sends
//       later still shows who created it.
//   P2. A request fails if it was not answered, or if one of its messages was refused. The messages
//       that were sent are counted either way: the convention counts attempts.

import { TidegateError } from "../core/errors.ts";
import { readTraceContext, TRACEPARENT, TRACESTATE } from "../core/events/trace-context.ts";
import type { EpochMs } from "../core/units.ts";
import { msBetween } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { OutboxRow } from "../ports/outbox.ts";
import type { SendOutcome } from "../ports/queue.ts";
import type { Span, SpanOptions, Telemetry } from "../ports/telemetry.ts";
import { METRICS } from "./metrics.ts";
import type { EventInput, OwnMessage, SendContext } from "./prepare.ts";
import type { Target } from "./target.ts";

const systemOf = ({ kind }: Target) => (kind === "topic" ? "aws.sns" : "aws_sqs");
const operationOf = ({ kind }: Target) => (kind === "topic" ? "publish" : "send");

function attributesOf(target: Target, name: string, type: string) {
  return {
    "messaging.system": systemOf(target),
    "messaging.operation.name": name,
    "messaging.operation.type": type,
    "messaging.destination.name": target.name,
  };
}

/** The span that creates a message; its context goes into the message (P1). */
export function createSpan(
  telemetry: Telemetry | undefined,
  target: Target,
  event: EventInput | OwnMessage,
  context: SendContext,
): Span | undefined {
  return telemetry?.span(`create ${target.name}`, {
    kind: "producer",
    parent: readTraceContext(context.traceparent, context.tracestate) ?? event?.trace ?? null,
    attributes: attributesOf(target, "create", "create"),
  });
}

/** One request to the target, while it is in flight. */
export interface SendRequest {
  end(outcomes: readonly SendOutcome[] | TidegateError): void;
}

/** Begins the span and the measurement of a request (P1). */
export function beginSend(
  { clock, telemetry }: { readonly clock: Clock; readonly telemetry?: Telemetry | undefined },
  target: Target,
  rows: readonly OutboxRow[],
): SendRequest | null {
  if (telemetry === undefined) return null;
  const operation = operationOf(target);
  const span = telemetry.span(`${operation} ${target.name}`, {
    kind: "client",
    links: rows.flatMap(linkOf),
    attributes: {
      ...attributesOf(target, operation, "send"),
      "messaging.batch.message_count": rows.length,
    },
  });
  const since = clock.now();
  return {
    end(outcomes) {
      const errorType = failureOf(outcomes);
      span.end(errorType === "" ? {} : { errorType });
      report({ clock, telemetry }, target, { since, sent: rows.length, errorType });
    },
  };
}

function linkOf({ attributes }: OutboxRow): NonNullable<SpanOptions["links"]> {
  const context = readTraceContext(attributes[TRACEPARENT], attributes[TRACESTATE]);
  return context === null ? [] : [{ context }];
}

function failureOf(outcomes: readonly SendOutcome[] | TidegateError): string {
  if (outcomes instanceof TidegateError) return outcomes.code;
  const refused = outcomes.find(({ kind }) => kind === "refused"); // P2
  return refused?.kind === "refused" ? refused.code : "";
}

function report(
  { clock, telemetry }: { readonly clock: Clock; readonly telemetry: Telemetry },
  target: Target,
  { since, sent, errorType }: { since: EpochMs; sent: number; errorType: string },
): void {
  const labels = {
    messaging_system: systemOf(target),
    messaging_operation_name: operationOf(target),
    messaging_destination_name: target.name,
    error_type: errorType,
  };
  const seconds = Math.max(0, msBetween(since, clock.now())) / 1_000;
  telemetry.record(METRICS.operationDuration, seconds, labels);
  telemetry.count(METRICS.sentMessages, sent, labels);
}
