// CDK setup: the queues of a CDK stack in TypeScript, JavaScript or Python, and what polls them.
//   K1. A construct is known by the name that it is assigned to. Only one file is read, so the
//       settings of a queue that another file may complete are unknown: how it is polled, its
//       policy and its key.
//   K2. Properties that come from elsewhere are unknown (S1 of setup.ts).

import { SQS_RETENTION_MS_DEFAULT, SQS_VISIBILITY_MS_DEFAULT } from "../../core/limits.ts";
import { type DurationMs, durationMs, seconds } from "../../core/units.ts";
import { isDeadLetterName } from "../rules/consumed-queues.ts";
import {
  EMPTY_SETUP,
  type Location,
  type ObservedMapping,
  type ObservedPipe,
  type ObservedQueue,
  type RedriveTarget,
  type Setup,
} from "../setup.ts";
import type { CodeContext } from "./code-context.ts";
import { memberName } from "./constants.ts";
import { type AnyNode, calledName, literalText, type TreeNode, within } from "./syntax-tree.ts";

const OF_CDK = /aws-cdk-lib|@aws-cdk\/|aws_cdk/;
const FUNCTION = /^(Docker\w*|Nodejs|Python|Go|Rust)?Function$/;
const FAILURES = /^(SqsDlq|SqsDestination)$/;
const BATCH_SIZE_DEFAULT = 10;
const TIMEOUT_DEFAULT: DurationMs = seconds(3);
const UNITS: Readonly<Record<string, number>> = {
  millis: 1,
  seconds: 1_000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
};

type Properties = ReadonlyMap<string, AnyNode>;

/** A construct that is created in the file. */
interface Construct {
  readonly at: TreeNode;
  readonly type: string;
  /** What the file calls it (K1). */
  readonly key: string;
  readonly id: string;
  /** Null if they are not known (K2). */
  readonly properties: Properties | null;
}

/** Null if the file has no queues, pipes or event sources of a CDK application. */
export function cdkSetup(context: CodeContext): Setup | null {
  if (!OF_CDK.test(context.text)) return null;
  const reader = new CdkReader(context);
  const queues = reader.constructs.filter(({ type }) => type === "Queue");
  const pipes = reader.constructs.filter(({ type }) => type === "CfnPipe");
  const mappings = reader.mappings();
  if (queues.length + pipes.length + mappings.length === 0) return null;
  const polled = new Set(mappings.map(({ queueArn }) => queueArn));
  return {
    ...EMPTY_SETUP,
    queues: queues.map((each) => reader.queue(each, polled)),
    failureArns: [
      ...reader.failures(),
      ...queues.flatMap(({ key, id }) => (isDeadLetterName(`${key}-${id}`) ? [arnOf(key)] : [])),
    ],
    mappings,
    pipes: pipes.map((each) => reader.pipe(each)),
  };
}

class CdkReader {
  readonly constructs: readonly Construct[];
  readonly #context: CodeContext;

  constructor(context: CodeContext) {
    this.#context = context;
    this.constructs = context.tree.nodes.flatMap((at) => this.#construct(at));
  }

  #construct(at: TreeNode): readonly Construct[] {
    const { node } = at;
    const type = calledName(at);
    if (type === null || !/^[A-Z]/.test(type)) return [];
    if (node.type !== "NewExpression" && node.type !== "CallExpression") return [];
    const [scope, id, third] = node.arguments as readonly AnyNode[];
    if (scope === undefined || id === undefined || !/^(This|Ident|Member)/.test(scope.type))
      return [];
    const properties = third === undefined ? new Map() : this.#properties(third, at);
    const key = keyOf(at) ?? `${type}-${at.node.start}`;
    return [{ at, type, key, id: literalText(id) ?? key, properties }];
  }

  #properties(node: AnyNode | undefined, at: TreeNode): Properties | null {
    const given = this.#context.constants.properties(node, at);
    if (given === null) return null;
    return new Map([...given].map(([name, value]) => [camel(name), value]));
  }

  #location({ at, id }: Construct): Location {
    const { file } = this.#context;
    return { name: id, file, line: at.line };
  }

  queue(construct: Construct, polled: ReadonlySet<string>): ObservedQueue {
    const { properties, key, id, at } = construct;
    const arn = arnOf(key);
    const span = (name: string, fallback: DurationMs) => {
      if (properties === null) return undefined;
      const value = properties.get(name);
      return value === undefined ? fallback : this.#span(value, at);
    };
    const given = literalText(properties?.get("queueName"));
    const flag = properties?.get("fifo");
    const fifo =
      given?.endsWith(".fifo") === true || (flag?.type === "Literal" && flag.value === true);
    const wait = properties?.get("receiveMessageWaitTime");
    return {
      location: this.#location(construct),
      name: given ?? generatedName(id, fifo),
      arn: fifo ? `${arn}.fifo` : arn,
      fifo,
      visibilityMs: polled.has(arn)
        ? span("visibilityTimeout", SQS_VISIBILITY_MS_DEFAULT)
        : undefined,
      retentionMs: span("retentionPeriod", SQS_RETENTION_MS_DEFAULT),
      waitMs: wait === undefined ? undefined : this.#span(wait, at),
      redrive: this.#redrive(properties, at, fifo),
      redriveAllow: undefined,
      kmsKey: undefined,
      sqsKey: undefined,
      dedupPerGroup: undefined,
      policy: undefined,
    };
  }

  #redrive(
    properties: Properties | null,
    at: TreeNode,
    fifo: boolean,
  ): RedriveTarget | null | undefined {
    if (properties === null) return undefined;
    const given = properties.get("deadLetterQueue");
    if (given === undefined) return null;
    const { constants } = this.#context;
    const value = unwrapped(constants.of(given, at));
    const object = value?.type === "CallExpression" ? (value.arguments.at(-1) as AnyNode) : given;
    const policy = this.#properties(object, at);
    const target = nameIn(policy?.get("queue"));
    if (policy === null || target === null) return undefined;
    const receives = constants.number(policy.get("maxReceiveCount"), at);
    const arn = fifo ? `${arnOf(target)}.fifo` : arnOf(target);
    return { deadLetterArn: arn, maxReceiveCount: receives ?? undefined };
  }

  #span(node: AnyNode, at: TreeNode): DurationMs | undefined {
    const { constants } = this.#context;
    const call = unwrapped(constants.of(node, at));
    if (call?.type !== "CallExpression") return undefined;
    const unit = UNITS[memberName(call.callee as AnyNode) ?? ""];
    const count = constants.number(call.arguments[0] as AnyNode | undefined, at);
    return unit === undefined || count === null ? undefined : durationMs(count * unit);
  }

  mappings(): readonly ObservedMapping[] {
    const sources = this.#context.tree.nodes.flatMap((at): readonly ObservedMapping[] => {
      const { node } = at;
      if (node.type !== "NewExpression" && node.type !== "CallExpression") return [];
      if (calledName(at) !== "SqsEventSource") return [];
      const [queue, options] = node.arguments as readonly AnyNode[];
      const properties = options === undefined ? new Map() : this.#properties(options, at);
      return [this.#mapping(at, nameIn(queue), properties, this.#timeoutAround(at))];
    });
    const named = this.constructs.flatMap(({ type, at, properties }) => {
      if (type !== "EventSourceMapping" || properties === null) return [];
      const source = properties.get("eventSourceArn");
      if (memberName(source) === "eventSourceArn") return [];
      const queue = /^queue_?arn$/i.test(memberName(source) ?? "") ? objectOf(source) : undefined;
      if (queue === undefined) return []; // It may be a stream.
      return [this.#mapping(at, nameIn(queue), properties, undefined)];
    });
    return [...sources, ...named];
  }

  #mapping(
    at: TreeNode,
    queue: string | null,
    properties: Properties | null,
    timeoutMs: DurationMs | undefined,
  ): ObservedMapping {
    const size = properties?.get("batchSize");
    const reports = properties?.get("reportBatchItemFailures");
    const given = reports?.type === "Literal" ? reports.value === true : undefined;
    const { constants, file } = this.#context;
    return {
      location: { name: queue ?? file, file, line: at.line },
      queueArn: queue === null ? "" : arnOf(queue),
      timeoutMs,
      batchSize:
        size === undefined && properties !== null
          ? BATCH_SIZE_DEFAULT
          : (constants.number(size, at) ?? undefined),
      reportsFailures: properties === null ? undefined : reports === undefined ? false : given,
    };
  }

  /** The timeout of the function of `consumer.addEventSource(new SqsEventSource(...))`. */
  #timeoutAround(at: TreeNode): DurationMs | undefined {
    const call = this.#context.tree.nodes.findLast((each) => {
      return /^(addEventSource|add_event_source)$/.test(calledName(each) ?? "") && within(each, at);
    });
    if (call?.node.type !== "CallExpression") return undefined;
    const key = nameIn(objectOf(call.node.callee as AnyNode));
    const own = this.constructs.filter((each) => each.key === key && FUNCTION.test(each.type));
    const [construct] = own;
    if (construct === undefined || construct.properties === null) return undefined;
    const timeout = construct.properties.get("timeout");
    return timeout === undefined ? TIMEOUT_DEFAULT : this.#span(timeout, construct.at);
  }

  pipe(construct: Construct): ObservedPipe {
    const { properties, at } = construct;
    const source = properties?.get("source");
    const queue = /^queue_?arn$/i.test(memberName(source) ?? "") ? nameIn(objectOf(source)) : null;
    const parameters = this.#properties(properties?.get("targetParameters"), at);
    const flow = this.#properties(parameters?.get("stepFunctionStateMachineParameters"), at);
    return {
      location: this.#location(construct),
      sourceArn: queue === null ? "" : arnOf(queue),
      target: parameters?.has("ecsTaskParameters") === true ? "ecs" : undefined,
      forgets: literalText(flow?.get("invocationType")) === "FIRE_AND_FORGET",
    };
  }

  /** Queues that rules, functions and subscriptions name for their failures. */
  failures(): readonly string[] {
    return this.#context.tree.nodes.flatMap((at): readonly string[] => {
      const { node } = at;
      const given: (AnyNode | undefined)[] = [];
      if (node.type === "Property" && node.key.type === "Identifier") {
        if (camel(node.key.name) === "deadLetterQueue") given.push(node.value as AnyNode);
      }
      if (FAILURES.test(calledName(at) ?? "") && "arguments" in node) {
        given.push(node.arguments[0] as AnyNode);
      }
      return given.map(nameIn).flatMap((key) => (key === null ? [] : [arnOf(key)]));
    });
  }
}

const arnOf = (key: string) => `arn:aws:sqs:us-east-1:000000000000:${key}`;

/** CDK leaves out what a name may not have, and shortens the rest. */
function generatedName(id: string, fifo: boolean): string {
  const name = id.replaceAll(/[^\w-]/g, "").slice(0, 75);
  return fifo ? `${name}.fifo` : name;
}

function camel(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** What a value is assigned to: `queue`, or `queue` of `this.queue`. */
function keyOf(at: TreeNode): string | null {
  const parent = at.parent?.node.type === "AwaitExpression" ? at.parent.parent : at.parent;
  const node = parent?.node;
  if (node?.type === "VariableDeclarator") return nameIn(node.id as AnyNode);
  return node?.type === "AssignmentExpression" ? nameIn(node.left as AnyNode) : null;
}

function nameIn(node: AnyNode | undefined): string | null {
  if (node?.type === "Identifier") return node.name;
  return node?.type === "MemberExpression" && node.object.type === "ThisExpression"
    ? memberName(node)
    : null;
}

function objectOf(node: AnyNode | undefined): AnyNode | undefined {
  return node?.type === "MemberExpression" ? (node.object as AnyNode) : undefined;
}

/** Calls of Python count as awaited (P1 of python-tree.ts). */
function unwrapped(node: AnyNode | undefined): AnyNode | undefined {
  return node?.type === "AwaitExpression" ? (node.argument as AnyNode) : node;
}
