// Terraform compute: what receives messages (functions, pipes, tasks), and where their failures
// go.

import { seconds } from "../../core/units.ts";
import { isDeadLetterName } from "../rules/consumed-queues.ts";
import type { ObservedMapping, ObservedPipe, ObservedScaling, Setup } from "../setup.ts";
import { UNKNOWN } from "../unknown.ts";
import type { HclBody } from "./hcl-syntax.ts";
import { ResourceReader, textValues } from "./terraform-facts.ts";
import type { TerraformScope } from "./terraform-scope.ts";
import { isObjectValue, jsonOf, type TerraformValue } from "./terraform-values.ts";

type Read = (...types: readonly string[]) => readonly ResourceReader[];

/** Lambda's default for queues. */
const BATCH_SIZE_DEFAULT = 10;

export function mappingsOf(read: Read): readonly ObservedMapping[] {
  const functions = read("aws_lambda_function");
  return read("aws_lambda_event_source_mapping").flatMap((mapping) => {
    const source = mapping.raw("event_source_arn");
    const queueArn = typeof source === "string" ? source : "";
    if (queueArn !== "" && !queueArn.startsWith("arn:aws:sqs:")) return [];
    const wanted = mapping.reference("function_name");
    const own = functions.find(({ name }) => name === wanted || wanted.endsWith(`:${name}`));
    const types = mapping.raw("function_response_types");
    return [
      {
        location: mapping.location,
        queueArn,
        timeoutMs: own?.span("timeout", seconds(3)),
        batchSize: mapping.number("batch_size", BATCH_SIZE_DEFAULT) ?? undefined,
        reportsFailures:
          types === UNKNOWN ? undefined : textValues(types).includes("ReportBatchItemFailures"),
      },
    ];
  });
}

export function pipeOf(reader: ResourceReader): ObservedPipe {
  const { body, location } = reader;
  const parameters = reader.nested(body, "target_parameters");
  const inside = (type: string) => parameters.flatMap((each) => reader.nested(each, type));
  const ecs = inside("ecs_task_parameters").length > 0;
  const target = reader.raw("target");
  const isEcs = ecs || (typeof target === "string" && target.includes(":ecs:"));
  const unknown = !ecs && typeof target !== "string";
  const started = [
    ...inside("step_function_state_machine_parameters"),
    ...inside("lambda_function_parameters"),
  ];
  return {
    location,
    sourceArn: reader.reference("source"),
    target: unknown ? undefined : isEcs ? "ecs" : "other",
    forgets: started.some((each) => {
      return reader.attribute(each, "invocation_type") === "FIRE_AND_FORGET";
    }),
  };
}

export function computeOf(read: Read): Pick<Setup, "scalings" | "servesRequests" | "images"> {
  const services = read("aws_ecs_service");
  const behind = services.some((each) => each.nested(each.body, "load_balancer").length > 0);
  const balancers = read("aws_lb", "aws_alb", "aws_lb_target_group");
  return {
    scalings: read("aws_appautoscaling_policy").flatMap(scalingOf),
    servesRequests: behind || balancers.length > 0,
    images: [
      ...read("aws_ecs_task_definition").flatMap((task) => imagesOf(task)),
      ...read("aws_lambda_function").flatMap((each) => {
        const image = each.raw("image_uri");
        return typeof image === "string" ? [{ location: each.location, image }] : [];
      }),
    ],
  };
}

const SCALED_BY: Readonly<Record<string, ObservedScaling["by"]>> = {
  ECSServiceAverageCPUUtilization: "cpu",
  ECSServiceAverageMemoryUtilization: "memory",
};

function scalingOf(reader: ResourceReader): readonly ObservedScaling[] {
  const { body, location } = reader;
  if (reader.raw("service_namespace") !== "ecs") return [];
  const tracked = reader
    .nested(body, "target_tracking_scaling_policy_configuration")
    .flatMap((each) => reader.nested(each, "predefined_metric_specification"));
  const [metric] = tracked.map((each) => reader.attribute(each, "predefined_metric_type"));
  return [{ location, by: SCALED_BY[String(metric ?? "")] ?? "other" }];
}

function imagesOf(task: ResourceReader): Setup["images"] {
  const containers = jsonOf(task.raw("container_definitions"));
  const list: readonly TerraformValue[] = Array.isArray(containers) ? containers : [];
  return list.flatMap((each) => {
    const image = isObjectValue(each) ? each.image : undefined;
    return typeof image === "string" && image !== "" ? [{ location: task.location, image }] : [];
  });
}

const FAILURE_BLOCK = /^(dead_letter_config|on_failure)$/;
const FAILURE_ARGUMENTS = ["arn", "target_arn", "destination", "destination_arn"];

/** Queues that schedules, rules, functions and mappings name for their failures, or named so. */
export function failureArnsOf(scope: TerraformScope): readonly string[] {
  return scope.blocks.flatMap((each) => {
    const { type, labels, body } = each.block;
    if (type !== "resource") return [];
    const reader = new ResourceReader(scope, each, {});
    const named = labels[0] === "aws_sqs_queue" && isDeadLetterName(labels[1] ?? "");
    const own = named ? [`arn:aws:sqs:us-east-1:000000000000:${reader.name}`] : [];
    return [...own, ...failuresIn(reader, body)];
  });
}

function failuresIn(reader: ResourceReader, body: HclBody): readonly string[] {
  return body.blocks.flatMap((block): readonly string[] => {
    const type = block.type === "dynamic" ? (block.labels[0] ?? "") : block.type;
    const inner = failuresIn(reader, block.body);
    if (!FAILURE_BLOCK.test(type) && block.type !== "content") return inner;
    const targets = FAILURE_ARGUMENTS.map((name) => reader.attribute(block.body, name));
    return [...inner, ...targets.filter((value) => typeof value === "string")];
  });
}
