// Template setup: the resources of one template as the doctor's facts.
//   E1. One template is one stack. Alarms are judged only in a template that has some: they are
//       often in a stack of their own. Permissions and buckets' policies are not read.

import { isObject } from "../../core/is-object.ts";
import { SQS_RETENTION_MS_DEFAULT, SQS_VISIBILITY_MS_DEFAULT } from "../../core/limits.ts";
import { type DurationMs, seconds } from "../../core/units.ts";
import { redriveAllowanceOf } from "../live/queue-attributes.ts";
import { policyStatements } from "../policy-document.ts";
import { isDeadLetterName } from "../rules/consumed-queues.ts";
import {
  EMPTY_SETUP,
  type Location,
  type ObservedAlarm,
  type ObservedQueue,
  type ObservedSubscription,
  type RedriveTarget,
  type Setup,
} from "../setup.ts";
import { UNKNOWN } from "../unknown.ts";
import { failureArnsIn, stackCompute } from "./template-compute.ts";
import type { TemplateDocument, TemplateObject } from "./template-document.ts";
import { objectAt, stackQueueUrl, type TemplateResource, TemplateScope } from "./template-scope.ts";

/** Null if the document has neither resources nor functions. */
export function templateSetup(document: TemplateDocument): Setup | null {
  const { root } = document;
  const below = [root.resources].flat().filter(isObject);
  const own = [objectAt(root, "Resources"), ...below.map((each) => objectAt(each, "Resources"))];
  const scope = new TemplateScope(document, Object.assign({}, ...own) as TemplateObject);
  const functions = objectAt(root, "functions");
  if (scope.resources.length === 0 && Object.keys(functions).length === 0) return null;
  const reader = new TemplateReader(scope);
  const alarms = scope.ofType("AWS::CloudWatch::Alarm").map((each) => reader.alarm(each));
  return {
    ...EMPTY_SETUP,
    queues: scope.ofType("AWS::SQS::Queue").map((each) => reader.queue(each)),
    topics: scope.ofType("AWS::SNS::Topic").map((each) => ({
      location: reader.location(each),
      name: scope.nameOf(each),
      arn: scope.arnOf(each),
      fifo: String(scope.value(each.properties.FifoTopic)) === "true",
      kmsKey: undefined,
    })),
    subscriptions: reader.subscriptions(),
    alarms: alarms.length === 0 ? undefined : alarms, // E1
    failureArns: [
      ...scope.resources.flatMap(({ properties }) => failureArnsIn(scope.value(properties))),
      ...Object.values(functions).flatMap((each) => failureArnsIn(scope.value(each))),
      ...scope.ofType("AWS::SQS::Queue").flatMap((each) => {
        return isDeadLetterName(each.id) ? [scope.arnOf(each)] : [];
      }),
    ],
    ...stackCompute(scope, document, (each) => reader.location(each)),
  };
}

class TemplateReader {
  readonly #scope: TemplateScope;

  constructor(scope: TemplateScope) {
    this.#scope = scope;
  }

  location({ id }: TemplateResource): Location {
    const scope = this.#scope;
    const line = scope.lineOf(`Resources/${id}`) ?? scope.lineOf(`resources/Resources/${id}`);
    return { name: id, file: scope.file, ...(line !== undefined && { line }) };
  }

  queue(resource: TemplateResource): ObservedQueue {
    const scope = this.#scope;
    const property = (name: string) => scope.value(resource.properties[name]);
    const span = (name: string, fallback: DurationMs) => spanOf(property(name), fallback);
    const name = scope.nameOf(resource);
    const kmsKey = property("KmsMasterKeyId") ?? null;
    const sqsKey = property("SqsManagedSseEnabled");
    return {
      location: this.location(resource),
      name,
      arn: scope.arnOf(resource),
      fifo: String(property("FifoQueue")) === "true",
      visibilityMs: span("VisibilityTimeout", SQS_VISIBILITY_MS_DEFAULT),
      retentionMs: span("MessageRetentionPeriod", SQS_RETENTION_MS_DEFAULT),
      waitMs: span("ReceiveMessageWaitTimeSeconds", seconds(0)),
      redrive: redriveOf(property("RedrivePolicy")),
      redriveAllow: redriveAllowanceOf(property("RedriveAllowPolicy")),
      kmsKey: kmsKey === null || typeof kmsKey === "string" ? kmsKey : undefined,
      sqsKey: sqsKey === UNKNOWN ? undefined : String(sqsKey ?? true) === "true",
      dedupPerGroup: property("DeduplicationScope") === "messageGroup",
      policy: this.#policyOf(name, scope.arnOf(resource)),
    };
  }

  #policyOf(name: string, arn: string): ObservedQueue["policy"] {
    const scope = this.#scope;
    if (scope.ofType("AWS::Serverless::Connector").length > 0) return undefined;
    const targets = [stackQueueUrl(name), arn, name];
    const policies = scope.ofType("AWS::SQS::QueuePolicy", "AWS::SQS::QueueInlinePolicy");
    const lists = policies.map(({ properties }) => {
      const named = [scope.value(properties.Queues ?? properties.Queue)].flat();
      const unknown = named.some((each) => typeof each !== "string");
      return { own: named.some((each) => targets.includes(String(each))), unknown, properties };
    });
    const own = lists.find((each) => each.own);
    if (own === undefined) return lists.some(({ unknown }) => unknown) ? undefined : null;
    return policyStatements(scope.value(own.properties.PolicyDocument));
  }

  subscriptions(): readonly ObservedSubscription[] {
    const scope = this.#scope;
    const named = scope.ofType("AWS::SNS::Subscription").map((each) => {
      const { TopicArn, Protocol, Endpoint, FilterPolicy, RedrivePolicy } = each.properties;
      const redrive = redriveOf(scope.value(RedrivePolicy));
      return {
        location: this.location(each),
        topicArn: knownText(scope.value(TopicArn)),
        protocol: knownText(scope.value(Protocol)),
        endpoint: knownText(scope.value(Endpoint)),
        filtered: FilterPolicy !== undefined,
        deadLetterArn: redrive === undefined ? undefined : (redrive?.deadLetterArn ?? null),
      };
    });
    const inline = scope.ofType("AWS::SNS::Topic").flatMap((topic) => {
      const list = [scope.value(topic.properties.Subscription ?? [])].flat().filter(isObject);
      return list.map(({ Protocol, Endpoint }) => ({
        location: this.location(topic),
        topicArn: scope.arnOf(topic),
        protocol: knownText(Protocol),
        endpoint: knownText(Endpoint),
        filtered: false,
        deadLetterArn: undefined,
      }));
    });
    return [...named, ...inline];
  }

  alarm(resource: TemplateResource): ObservedAlarm {
    const property = (name: string) => this.#scope.value(resource.properties[name]);
    const text = (value: unknown) => {
      return value === undefined ? null : typeof value === "string" ? value : undefined;
    };
    const dimensions = [property("Dimensions") ?? []].flat();
    const named = dimensions.find((each) => isObject(each) && each.Name === "QueueName");
    const metrics = property("Metrics") !== undefined;
    const actions = property("AlarmActions");
    const threshold = Number(property("Threshold"));
    return {
      location: this.location(resource),
      namespace: metrics ? undefined : text(property("Namespace")),
      metric: metrics ? undefined : text(property("MetricName")),
      queueName: metrics ? undefined : isObject(named) ? text(named.Value) : null,
      operator: text(property("ComparisonOperator")),
      threshold: Number.isFinite(threshold) ? threshold : undefined,
      hasActions: Array.isArray(actions)
        ? actions.length > 0
        : actions === undefined
          ? false
          : undefined,
      hasRunbook: text(property("AlarmDescription"))?.includes("http"),
    };
  }
}

function knownText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function spanOf(value: unknown, fallback: DurationMs): DurationMs | undefined {
  if (value === undefined || value === null) return fallback;
  const number =
    typeof value === "string" || typeof value === "number" ? Number(value) : Number.NaN;
  return Number.isFinite(number) && number >= 0 ? seconds(number) : undefined;
}

function redriveOf(value: unknown): RedriveTarget | null | undefined {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) return undefined;
  const { deadLetterTargetArn: target, maxReceiveCount: count } = value;
  if (typeof target !== "string") return target === undefined ? null : undefined;
  if (typeof count !== "string" && typeof count !== "number") {
    return { deadLetterArn: target, maxReceiveCount: count === undefined ? null : undefined };
  }
  return { deadLetterArn: target, maxReceiveCount: Number(count) };
}
