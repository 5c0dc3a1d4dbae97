// Handlers: the functions of a file to which somebody else hands messages, and deletes them when
// the function returns.
//   H1. A handler is known by who calls it: Lambda (it reads Records of its event), sqs-consumer
//       (handleMessage), NestJS (@SqsMessageHandler) and Powertools (a record handler).
//   H2. A function of Lambda counts if the file shows that its records come from SQS.

import type { CodeContext } from "./code-context.ts";
import { memberName } from "./constants.ts";
import {
  type AnyNode,
  calledName,
  isFunction,
  literalText,
  type TreeNode,
  upwards,
} from "./syntax-tree.ts";

export interface MessageHandler {
  readonly at: TreeNode;
  readonly caller: "Lambda" | "a library";
  /** Nodes that read the list of records; empty if the handler gets one message. */
  readonly records: readonly TreeNode[];
}

/** Types and fields that only events of SQS have. */
const FROM_SQS =
  /\bSQS(Event|Handler|Record|Batch)|batchItemFailures|aws:sqs|EventType\.SQS|\breceiptHandle\b/;
const BODY =
  /\b(record|rec|r|message|msg|item|m|Records\[\w+\])(\?\.body\b|\.body\b|\[["']body["']\])/i;
const MESSAGE_HANDLER = /^handleMessage(Batch)?$/;
const POWERTOOLS =
  /^(processPartialResponse(Sync)?|process_partial_response|async_process_partial_response)$/;

export function messageHandlers(context: CodeContext): readonly MessageHandler[] {
  const all = [...lambdaHandlers(context), ...libraryHandlers(context)];
  const handlers = new Set<AnyNode>();
  return all.filter(({ at }) => !handlers.has(at.node) && handlers.add(at.node));
}

function lambdaHandlers({ tree, text }: CodeContext): readonly MessageHandler[] {
  if (!text.includes("Records")) return [];
  if (!FROM_SQS.test(text) && !BODY.test(text)) return []; // H2
  const readers = new Map<TreeNode, TreeNode[]>();
  for (const at of tree.nodes) {
    const reader = readerOf(at);
    if (reader !== null) readers.set(reader, [...(readers.get(reader) ?? []), at]);
  }
  return [...readers].map(([at, records]) => ({ at, caller: "Lambda", records }));
}

/** The function whose first parameter has the Records that `at` reads. */
function readerOf(at: TreeNode): TreeNode | null {
  const { node } = at;
  if (node.type === "ObjectPattern") {
    const names = node.properties.map((each) => (each.type === "Property" ? each.key : null));
    const named = names.some((key) => key?.type === "Identifier" && key.name === "Records");
    return named && at.parent !== null && isFunction(at.parent) ? at.parent : null;
  }
  const object = recordsOf(node);
  if (object?.type !== "Identifier") return null;
  return (
    [...upwards(at)].find((each) => isFunction(each) && hasParameter(each, object.name)) ?? null
  );
}

/** `event` of `event.Records` and `event.get("Records")`. */
function recordsOf(node: AnyNode): AnyNode | null {
  if (node.type === "MemberExpression" && memberName(node) === "Records") {
    return node.object as AnyNode;
  }
  if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return null;
  if (memberName(node.callee) !== "get" || literalText(node.arguments[0]) !== "Records")
    return null;
  return node.callee.object as AnyNode;
}

export function hasParameter({ node }: TreeNode, name: string): boolean {
  if (!("params" in node)) return false;
  return node.params.some((param) => {
    const own = param.type === "AssignmentPattern" ? param.left : param;
    return own.type === "Identifier" && own.name === name;
  });
}

function libraryHandlers({ tree, constants }: CodeContext): readonly MessageHandler[] {
  return tree.nodes.flatMap((at): readonly MessageHandler[] => {
    const { node } = at;
    const given: (AnyNode | null | undefined)[] = [];
    if (node.type === "Property" && node.key.type === "Identifier" && isConsumerOption(at)) {
      given.push(node.value);
    }
    if (node.type === "CallExpression" && POWERTOOLS.test(calledName(at) ?? "")) {
      given.push(node.arguments[1] as AnyNode | undefined);
    }
    if (node.type === "MethodDefinition" && isDecorated(node)) given.push(node.value);
    return given.flatMap((each) => {
      const own = constants.functionOf(each);
      return own === null ? [] : [{ at: own, caller: "a library" as const, records: [] }];
    });
  });
}

/** `handleMessage` of `Consumer.create({ ... })` and `new Consumer({ ... })`. */
function isConsumerOption({ node, parent }: TreeNode): boolean {
  if (node.type !== "Property" || node.key.type !== "Identifier") return false;
  if (!MESSAGE_HANDLER.test(node.key.name)) return false;
  const call = parent?.parent?.node;
  if (call?.type === "NewExpression")
    return /Consumer$/.test(calledName({ ...parent!.parent! }) ?? "");
  return call?.type === "CallExpression" && calledName({ ...parent!.parent! }) === "create";
}

function isDecorated(node: AnyNode): boolean {
  const { decorators = [] } = node as unknown as {
    decorators?: readonly { expression: AnyNode }[];
  };
  return decorators.some(({ expression }) => {
    return (
      expression.type === "CallExpression" &&
      expression.callee.type === "Identifier" &&
      expression.callee.name === "SqsMessageHandler"
    );
  });
}
