// Template compute: what receives messages: functions, pipes and tasks of a template, and the
// functions of serverless.yml.

import { isObject } from "../../core/is-object.ts";
import { type DurationMs, seconds } from "../../core/units.ts";
import type { Location, ObservedMapping, ObservedPipe, ObservedScaling, Setup } from "../setup.ts";
import { UNKNOWN } from "../unknown.ts";
import type { TemplateDocument, TemplateObject } from "./template-document.ts";
import { objectAt, type TemplateResource, type TemplateScope } from "./template-scope.ts";

const BATCH_SIZE_DEFAULT = 10;
/** Defaults of Lambda and of the Serverless Framework, in seconds. */
const TIMEOUT_DEFAULT = 3;
const SERVERLESS_TIMEOUT_DEFAULT = 6;

type Locate = (resource: TemplateResource) => Location;
type Compute = Pick<Setup, "mappings" | "pipes" | "scalings" | "servesRequests" | "images">;

export function stackCompute(
  scope: TemplateScope,
  document: TemplateDocument,
  locate: Locate,
): Compute {
  const services = scope.ofType("AWS::ECS::Service");
  const balancers = scope.resources.filter(({ type }) => type.startsWith("AWS::ElasticLoadBal"));
  return {
    mappings: [
      ...mappingsOf(scope, locate),
      ...eventsOf(scope, document, locate),
      ...functionsOf(scope, document),
    ],
    pipes: scope.ofType("AWS::Pipes::Pipe").map((each) => pipeOf(scope, each, locate(each))),
    scalings: scope
      .ofType("AWS::ApplicationAutoScaling::ScalingPolicy")
      .flatMap((each) => scalingOf(scope, each, locate(each))),
    servesRequests:
      balancers.length > 0 || services.some(({ properties }) => "LoadBalancers" in properties),
    images: scope.ofType("AWS::ECS::TaskDefinition").flatMap((each) => {
      const list = [scope.value(each.properties.ContainerDefinitions)].flat();
      return list.flatMap((container) => {
        const image = isObject(container) ? container.Image : undefined;
        return typeof image === "string" ? [{ location: locate(each), image }] : [];
      });
    }),
  };
}

function mappingsOf(scope: TemplateScope, locate: Locate): readonly ObservedMapping[] {
  return scope.ofType("AWS::Lambda::EventSourceMapping").flatMap((each) => {
    const { EventSourceArn, FunctionName, BatchSize, FunctionResponseTypes } = each.properties;
    const wanted = scope.value(FunctionName);
    const own = scope.ofType("AWS::Lambda::Function", "AWS::Serverless::Function").find((other) => {
      return wanted === scope.nameOf(other) || wanted === scope.arnOf(other);
    });
    return mappingOf(scope, {
      location: locate(each),
      source: EventSourceArn,
      batchSize: BatchSize,
      types: FunctionResponseTypes,
      timeoutMs: own === undefined ? undefined : timeoutOf(scope, [own.properties.Timeout]),
    });
  });
}

/** Events of type SQS of SAM functions. */
function eventsOf(
  scope: TemplateScope,
  { root }: TemplateDocument,
  locate: Locate,
): readonly ObservedMapping[] {
  const globals = objectAt(objectAt(root, "Globals"), "Function");
  return scope.ofType("AWS::Serverless::Function").flatMap((each) => {
    const { Timeout, Events } = each.properties;
    const list = isObject(Events) ? Object.values(Events).filter(isObject) : [];
    return list.flatMap((event) => {
      if (event.Type !== "SQS") return [];
      const { Queue, BatchSize, FunctionResponseTypes } = objectAt(event, "Properties");
      return mappingOf(scope, {
        location: locate(each),
        source: Queue,
        batchSize: BatchSize,
        types: FunctionResponseTypes,
        timeoutMs: timeoutOf(scope, [Timeout, globals.Timeout]),
      });
    });
  });
}

/** Functions of serverless.yml with an event of a queue. */
function functionsOf(scope: TemplateScope, { file, root }: TemplateDocument) {
  const provider = objectAt(root, "provider");
  return Object.entries(objectAt(root, "functions")).flatMap(([name, given]) => {
    if (!isObject(given)) return [];
    const line = scope.lineOf(`functions/${name}`);
    const events = Array.isArray(given.events) ? given.events.filter(isObject) : [];
    return events.flatMap((event): readonly ObservedMapping[] => {
      if (event.sqs === undefined) return [];
      const short = !isObject(event.sqs) || !("arn" in event.sqs);
      const options: TemplateObject = short ? { arn: event.sqs } : (event.sqs as TemplateObject);
      return mappingOf(scope, {
        location: { name, file, ...(line !== undefined && { line }) },
        source: options.arn,
        batchSize: options.batchSize,
        types: options.functionResponseType,
        timeoutMs: timeoutOf(scope, [given.timeout, provider.timeout], SERVERLESS_TIMEOUT_DEFAULT),
      });
    });
  });
}

interface GivenMapping {
  readonly location: Location;
  readonly source: unknown;
  readonly batchSize: unknown;
  readonly types: unknown;
  readonly timeoutMs: DurationMs | undefined;
}

function mappingOf(scope: TemplateScope, given: GivenMapping): readonly ObservedMapping[] {
  const source = scope.value(given.source);
  if (typeof source === "string" && !/:sqs:/.test(source)) return [];
  const types = scope.value(given.types);
  const size = scope.value(given.batchSize) ?? BATCH_SIZE_DEFAULT;
  return [
    {
      location: given.location,
      queueArn: typeof source === "string" ? source : "",
      timeoutMs: given.timeoutMs,
      batchSize: size === UNKNOWN || Number.isNaN(Number(size)) ? undefined : Number(size),
      reportsFailures:
        types === UNKNOWN ? undefined : [types].flat().includes("ReportBatchItemFailures"),
    },
  ];
}

function timeoutOf(
  scope: TemplateScope,
  given: readonly unknown[],
  fallback = TIMEOUT_DEFAULT,
): DurationMs | undefined {
  const value =
    given.map((each) => scope.value(each)).find((each) => each !== undefined) ?? fallback;
  const number =
    typeof value === "string" || typeof value === "number" ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? seconds(number) : undefined;
}

function pipeOf(scope: TemplateScope, each: TemplateResource, location: Location): ObservedPipe {
  const { Source, Target, TargetParameters } = each.properties;
  const parameters = isObject(TargetParameters) ? TargetParameters : {};
  const source = scope.value(Source);
  const target = scope.value(Target);
  const isEcs =
    "EcsTaskParameters" in parameters || (typeof target === "string" && target.includes(":ecs:"));
  const started = [
    objectAt(parameters, "StepFunctionStateMachineParameters"),
    objectAt(parameters, "LambdaFunctionParameters"),
  ];
  return {
    location,
    sourceArn: typeof source === "string" ? source : "",
    target: isEcs ? "ecs" : typeof target === "string" ? "other" : undefined,
    forgets: started.some(({ InvocationType }) => InvocationType === "FIRE_AND_FORGET"),
  };
}

const SCALED_BY: Readonly<Record<string, ObservedScaling["by"]>> = {
  ECSServiceAverageCPUUtilization: "cpu",
  ECSServiceAverageMemoryUtilization: "memory",
};

function scalingOf(scope: TemplateScope, each: TemplateResource, location: Location) {
  if (scope.value(each.properties.ServiceNamespace ?? "ecs") !== "ecs") return [];
  const tracked = objectAt(each.properties, "TargetTrackingScalingPolicyConfiguration");
  const metric = objectAt(tracked, "PredefinedMetricSpecification").PredefinedMetricType;
  return [{ location, by: SCALED_BY[String(scope.value(metric) ?? "")] ?? ("other" as const) }];
}

const FAILURE_KEY = /^(DeadLetterConfig|DeadLetterQueue|OnFailure|onFailure|deadLetterConfig)$/;

/** ARNs of queues that properties name for failures, at any depth. */
export function failureArnsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(failureArnsIn);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const own = FAILURE_KEY.test(name)
      ? [inner, ...(isObject(inner) ? Object.values(inner) : [])]
      : [];
    const texts = own.filter((each) => typeof each === "string");
    const target = name === "onError" && typeof inner === "string" ? [inner] : [];
    return [...texts, ...target, ...failureArnsIn(inner)];
  });
}
