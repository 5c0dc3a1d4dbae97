// Consumer patterns: programs that receive and delete messages themselves.

import type { CodePattern } from "../setup.ts";
import type { CodeContext } from "./code-context.ts";
import { isInjected, isOwnWork, isWork } from "./consumer-work.ts";
import { handlerPatterns } from "./handler-patterns.ts";
import type { QueueCall } from "./queue-calls.ts";
import {
  type AnyNode,
  calledName,
  enclosingFunction,
  isFunction,
  isLoop,
  literalText,
  type TreeNode,
  upwards,
  within,
} from "./syntax-tree.ts";

/** Words of code that remembers what it has processed. */
const IDEMPOTENT =
  /ConditionExpression|attribute_not_exists|on conflict|insert or ignore|idempoten|from "tidegate|require\("tidegate/i;
const KEY_NAME = /idempot|dedup/i;

export function consumerPatterns(context: CodeContext): readonly CodePattern[] {
  const { calls } = context;
  return [
    ...calls.flatMap((call) => receivePatterns(context, call)),
    ...calls.flatMap((call) => deletePatterns(context, call)),
    ...calls.flatMap((call) => batchPatterns(context, call)),
    ...handlerPatterns(context),
    ...idempotencyPatterns(context),
    ...loopPatterns(context),
    ...context.tree.nodes.flatMap((at) => keyPatterns(context, at)),
    ...calls
      .filter(({ kind }) => kind === "heartbeat")
      .map(({ at }) => context.report("heartbeat", at, "the code extends visibility timeouts")),
  ];
}

function receivePatterns(
  { report, constants }: CodeContext,
  call: QueueCall,
): readonly CodePattern[] {
  const { kind, at, input } = call;
  if (kind !== "receive" || input === null) return [];
  const numberIn = (node: AnyNode | undefined) => constants.number(node, at);
  const patterns: CodePattern[] = [];
  const wait = input.get("WaitTimeSeconds");
  if (wait === undefined || numberIn(wait) === 0) {
    const detail = wait === undefined ? "sets no WaitTimeSeconds" : "sets WaitTimeSeconds to 0";
    patterns.push(report("short-polling-in-code", at, `the receive ${detail}`));
  }
  const max = input.get("MaxNumberOfMessages");
  if (max === undefined || numberIn(max) === 1) {
    patterns.push(report("one-message-per-receive", at, "the receive takes one message at a time"));
  }
  return patterns;
}

function deletePatterns(context: CodeContext, call: QueueCall): readonly CodePattern[] {
  const { report, tree } = context;
  const { kind, at } = call;
  if (kind !== "delete" && kind !== "delete-batch") return [];
  const area = enclosingFunction(at);
  for (const each of upwards(at)) {
    if (each === area) break;
    const { node, parent } = each;
    if (parent?.node.type === "TryStatement" && parent.node.finalizer === node) {
      return [report("delete-on-failure", at, "the message is deleted in finally")];
    }
    if (node.type === "CatchClause" && !sendsElsewhere(context, each)) {
      return [report("delete-on-failure", at, "the message is deleted when processing fails")];
    }
  }
  if (!isSentHere(at)) return [];
  const own = [...upwards(at)].find(isFunction);
  const isOwn = (each: TreeNode) => [...upwards(each)].find(isFunction) === own;
  const work = tree.nodes.filter((each) => isWork(each) && isAwaited(each) && isOwn(each));
  const later = work.find(({ node }) => node.start > at.node.end);
  const earlier = work.some(({ node }) => node.end < at.node.start);
  if (later === undefined || earlier) return [];
  return [report("delete-before-processing", at, "the message is deleted before it is processed")];
}

/** Whether a failed message is sent to another queue before it is deleted. */
function sendsElsewhere({ calls }: CodeContext, area: TreeNode): boolean {
  return calls.some(({ kind, at }) => kind.startsWith("send") && within(area, at));
}

function isAwaited({ parent }: TreeNode): boolean {
  return parent?.node.type === "AwaitExpression";
}

function batchPatterns(
  { report, tree, text }: CodeContext,
  call: QueueCall,
): readonly CodePattern[] {
  const { kind, at } = call;
  if (kind !== "send-batch" && kind !== "delete-batch") return [];
  const area = enclosingFunction(at);
  const code = text.slice(area.node.start, area.node.end);
  const patterns: CodePattern[] = [];
  const verb = kind === "send-batch" ? "sent" : "deleted";
  if (!/\bFailed\b/.test(text) && isSentHere(at) && !isPassedOn(at)) {
    patterns.push(
      report("batch-failures-ignored", at, `a batch is ${verb} without reading Failed`),
    );
  }
  const cut = tree.nodes.find((each) => within(area, each) && isFirstTen(each));
  if (
    cut !== undefined &&
    !/\.splice\(|\.slice\(\s*(10|BATCH\w*)\b|\.slice\([a-z]\w*,/i.test(code)
  ) {
    patterns.push(
      report("batch-truncated", cut, `a batch is ${verb} of the first ten entries only`),
    );
  }
  return patterns;
}

/** Whether a command is the argument of a call, or a method; others are sent elsewhere. */
function isSentHere({ node, parent }: TreeNode): boolean {
  return node.type === "CallExpression" || parent?.node.type === "CallExpression";
}

/** Whether the response goes to another function, which may read it. */
function isPassedOn(at: TreeNode): boolean {
  for (const { node, parent } of upwards(at)) {
    if (parent === null || parent.node.type === "ExpressionStatement") return false;
    if (parent.node.type === "VariableDeclarator") return false;
    if (parent.node.type === "ReturnStatement" || isFunction(parent)) return true;
    if (parent.node.type !== "CallExpression" || parent.node.callee === node) continue;
    if (calledName(parent) !== "send") return true;
  }
  return false;
}

/** `.slice(0, 10)`. */
function isFirstTen(at: TreeNode): boolean {
  const { node } = at;
  if (node.type !== "CallExpression" || calledName(at) !== "slice") return false;
  const [from, to] = node.arguments;
  return numberIn(from) === 0 && numberIn(to) === 10;
}

function idempotencyPatterns(context: CodeContext): readonly CodePattern[] {
  const { calls, tree, text, report } = context;
  const receive = calls.find(({ kind, at }) => kind === "receive" && isSentHere(at));
  const deletes = calls.some(({ kind }) => kind === "delete" || kind === "delete-batch");
  if (receive === undefined || !deletes || IDEMPOTENT.test(text)) return [];
  const works = tree.nodes.some((at) => isAwaited(at) && isOwnWork(context, at));
  if (!works || tree.nodes.some((at) => isInjected(context, at))) return [];
  const detail = "the consumer does not remember which messages it has processed";
  return [report("no-idempotency", receive.at, detail)];
}

function loopPatterns(context: CodeContext): readonly CodePattern[] {
  const { calls, file, tree, text, report } = context;
  if (!calls.some(({ kind }) => kind === "receive")) return [];
  const fifo = tree.nodes.some(namesFifo) && !tree.nodes.some((at) => isInjected(context, at));
  return tree.nodes.flatMap((at): CodePattern[] => {
    const { node } = at;
    if (file.endsWith(".py")) return []; // Python has no promises to run side by side.
    if (isLoop(at) && node.type === "ForOfStatement" && !fifo && isMessages(node.right, text)) {
      const awaits = tree.nodes.some((each) => isWork(each) && isAwaited(each) && within(at, each));
      return awaits ? [report("messages-one-by-one", at, "messages are processed in a loop")] : [];
    }
    const parallel = calledName(at) === "all" || calledName(at) === "allSettled";
    if (!fifo || !parallel || node.type !== "CallExpression") return [];
    const [given] = node.arguments;
    if (given === undefined || !/Messages|messages/.test(text.slice(given.start, given.end))) {
      return [];
    }
    return [report("fifo-in-parallel", at, "all messages of a receive are processed at once")];
  });
}

/** A URL or name of a FIFO queue, or the group as an attribute that is received. */
function namesFifo({ node, parent }: TreeNode): boolean {
  const text = literalText(node);
  if (text === null || parent?.node.type === "CallExpression") return false; // text.endsWith(".fifo")
  return text.endsWith(".fifo") || text === "MessageGroupId";
}

function isMessages(node: AnyNode, text: string): boolean {
  return /\b[mM]essages\b/.test(text.slice(node.start, node.end));
}

function keyPatterns({ report }: CodeContext, at: TreeNode): readonly CodePattern[] {
  const { node } = at;
  const { object, key } = attributeRead(node);
  if (object === null || key === null || !KEY_NAME.test(key)) return [];
  return [report("key-from-attribute", at, `the key is read from the message attribute ${key}`)];
}

/** `message.MessageAttributes.key`, `["key"]` and `.get("key")`. */
function attributeRead(node: AnyNode): { object: AnyNode | null; key: string | null } {
  const member = node.type === "ChainExpression" ? (node.expression as AnyNode) : node;
  if (member.type === "CallExpression" && member.callee.type === "MemberExpression") {
    const [first] = member.arguments;
    return { object: attributesIn(member.callee.object), key: literalText(first) };
  }
  if (member.type !== "MemberExpression") return { object: null, key: null };
  const { property, object } = member;
  const name = property.type === "Identifier" && !member.computed ? property.name : null;
  return { object: attributesIn(object), key: name ?? literalText(property as AnyNode) };
}

function attributesIn(node: AnyNode): AnyNode | null {
  const member = node.type === "ChainExpression" ? (node.expression as AnyNode) : node;
  if (member.type !== "MemberExpression" || member.property.type !== "Identifier") return null;
  return /^messageAttributes$/i.test(member.property.name) ? member : null;
}

function numberIn(node: AnyNode | undefined): number | null {
  return node?.type === "Literal" && typeof node.value === "number" ? node.value : null;
}
