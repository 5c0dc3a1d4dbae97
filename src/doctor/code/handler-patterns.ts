// Handler patterns: mistakes in functions that are called with messages (handlers.ts).
//   P1. A catch is reported only if nothing in it but logging is visible, and if it covers all work
//       on a message: then a failure surely counts as success, and the message is deleted.
//       Versions of sqs-consumer differ in what a handler without a result means, so one that
//       returns messages is not reported.
//   P2. Work that no one waits for is reported only in an async function, where the promise that it
//       returns ends the message. Lambda waits for the event loop of other functions.

import type { CodePattern } from "../setup.ts";
import type { CodeContext } from "./code-context.ts";
import { isInjected, isWork } from "./consumer-work.ts";
import { type MessageHandler, messageHandlers } from "./handlers.ts";
import {
  type AnyNode,
  calledName,
  isFunction,
  isFunctionNode,
  isLoop,
  type TreeNode,
  upwards,
  within,
} from "./syntax-tree.ts";

/** Words of code that reports single failures of a batch. */
const PARTIAL =
  /batchItemFailures|itemIdentifier|[pP]artial_?[rR]esponse|BatchProcessor|batch_processor|sqsPartialBatchFailure/;
/** Calls that only tell somebody. */
const TELLS =
  /^(log|info|debug|warn|warning|error|exception|critical|trace|print|print_exc|format_exc|captureException|capture_exception|addMetric|add_metric|putMetric|stringify|dumps|str|repr|format|String|toString|Error|toISOString|now|getMessage|type|getLogger)$/;

export function handlerPatterns(context: CodeContext): readonly CodePattern[] {
  return messageHandlers(context).flatMap((handler) => {
    const areas = [handler.at, ...helpersOf(context, handler.at)];
    const floating = areas.flatMap((area) => floatingIn(context, handler, area)).slice(0, 1);
    if (floating.length > 0) return floating;
    if (handler.caller !== "Lambda" && returnsValue(context, handler.at)) return [];
    const swallowed = areas.flatMap((area) => swallowedIn(context, area)).slice(0, 1);
    return swallowed.length > 0 ? swallowed : wholeBatches(context, handler);
  });
}

/** Functions of the file that the handler calls itself. */
function helpersOf({ tree, constants }: CodeContext, handler: TreeNode): readonly TreeNode[] {
  const called = tree.nodes.flatMap((each) => {
    if (each.node.type !== "CallExpression" || !within(handler, each)) return [];
    const own = constants.functionOf(each.node.callee as AnyNode);
    return own === null || within(handler, own) ? [] : [own];
  });
  return [...new Set(called)];
}

function returnsValue({ tree }: CodeContext, handler: TreeNode): boolean {
  return tree.nodes.some((each) => {
    return (
      each.node.type === "ReturnStatement" && each.node.argument != null && within(handler, each)
    );
  });
}

function floatingIn(
  context: CodeContext,
  handler: MessageHandler,
  area: TreeNode,
): readonly CodePattern[] {
  const { tree, constants, report } = context;
  if (!isAsync(handler.at.node)) return []; // P2
  const unawaited = tree.nodes.find((each) => {
    const { node, parent } = each;
    if (node.type !== "CallExpression" || !within(area, each)) return false;
    const [given] = node.arguments;
    const name = calledName(each);
    const callback = given !== undefined && isFunctionNode(given) && isAsync(given);
    if (callback && name === "forEach") return isAwaiting(context, given as AnyNode);
    if (parent?.node.type !== "ExpressionStatement") return false;
    if (callback && name === "map") return isAwaiting(context, given as AnyNode);
    const own = constants.functionOf(node.callee as AnyNode);
    return own !== null && isAsync(own.node) && isAwaiting(context, own.node);
  });
  if (unawaited === undefined) return [];
  const detail = "the handler returns before its work is done, and the message is deleted then";
  return [report("delete-before-processing", unawaited, detail)];
}

function isAsync(node: AnyNode): boolean {
  return "async" in node && node.async === true;
}

/** Whether a function waits for something but logs. */
function isAwaiting({ tree }: CodeContext, { start, end }: AnyNode): boolean {
  return tree.nodes.some(({ node }) => {
    return node.type === "AwaitExpression" && node.start >= start && node.end <= end;
  });
}

function swallowedIn(context: CodeContext, area: TreeNode): readonly CodePattern[] {
  const { tree, report } = context;
  return tree.nodes.flatMap((at): readonly CodePattern[] => {
    if (!within(area, at)) return [];
    const { node, parent } = at;
    if (node.type === "TryStatement" && node.handler != null) {
      const clause = tree.nodes.find((each) => each.node === node.handler);
      if (clause === undefined || !isMain(context, at, area) || !onlyTells(context, clause))
        return [];
      return [report("failure-swallowed", clause, "the handler logs an error and returns")];
    }
    const ignored =
      parent?.node.type === "AwaitExpression" && parent.parent?.node.type === "ExpressionStatement";
    if (calledName(at) === "catch" && ignored && catchesAll(context, at)) {
      return [report("failure-swallowed", at, "the handler logs an error and returns")];
    }
    if (calledName(at) === "allSettled" && ignored && workIn(context, at).length > 0) {
      return [report("failure-swallowed", at, "the handler ignores the outcomes of allSettled")];
    }
    return [];
  });
}

/** `work().catch((error) => log(error))` */
function catchesAll(context: CodeContext, at: TreeNode): boolean {
  if (at.node.type !== "CallExpression" || workIn(context, at).length < 2) return false;
  const clause = context.tree.nodes.find(({ node }) => node === argumentOf(at));
  return clause !== undefined && isFunction(clause) && onlyTells(context, clause);
}

function argumentOf({ node }: TreeNode): AnyNode | undefined {
  return node.type === "CallExpression" ? (node.arguments[0] as AnyNode | undefined) : undefined;
}

/** Whether a try statement holds all the work of the block that it is in (P1). */
function isMain(context: CodeContext, at: TreeNode, area: TreeNode): boolean {
  if (
    at.node.type !== "TryStatement" ||
    workIn(context, blockOf(context, at.node.block)).length === 0
  ) {
    return false;
  }
  const block = at.parent;
  const owner = block?.parent ?? null;
  if (block?.node.type !== "BlockStatement" || owner === null) return false;
  if (!isFunction(owner) && !isLoop(owner)) return false;
  const outer = [...upwards(at)].find((each) => each !== at && each.node.type === "TryStatement");
  if (outer !== undefined && within(area, outer)) return false;
  return workIn(context, block).every((each) => within(at, each));
}

function blockOf({ tree }: CodeContext, node: AnyNode): TreeNode {
  return tree.nodes.find((each) => each.node === node) ?? { node, parent: null, line: 1 };
}

function workIn({ tree }: CodeContext, area: TreeNode): readonly TreeNode[] {
  return tree.nodes.filter(
    (each) => within(area, each) && isWork(each) && !TELLS.test(calledName(each) ?? ""),
  );
}

/** Whether a catch does nothing but log, or return a constant (P1). */
function onlyTells({ tree, text }: CodeContext, clause: TreeNode): boolean {
  return tree.nodes.every((each) => {
    const { node } = each;
    if (!within(clause, each)) return true;
    if (node.type === "ReturnStatement") {
      const code = node.argument == null ? "" : text.slice(node.argument.start, node.argument.end);
      return /^(|undefined|null|None|void 0)$/.test(code) || /^\{[\s\S]*\bstatusCode\b/.test(code);
    }
    if (/^(Throw|If|Switch|For|While|Assignment|Update|Break|Yield)/.test(node.type)) return false;
    if (node.type === "VariableDeclarator") return !("rebinds" in node);
    if (node.type !== "CallExpression" && node.type !== "NewExpression") return true;
    return TELLS.test(calledName(each) ?? "");
  });
}

/** A loop over records in which one failure fails all of them. */
function wholeBatches(
  context: CodeContext,
  { records, caller }: MessageHandler,
): readonly CodePattern[] {
  const { text, report } = context;
  const looped = records.find((at) => isIterated(at, text));
  if (caller !== "Lambda" || looped === undefined || PARTIAL.test(text)) return [];
  const area = [...upwards(looped)].find(isFunction);
  if (area === undefined || workIn(context, area).length === 0) return [];
  if (context.tree.nodes.some((each) => within(area, each) && isInjected(context, each))) return [];
  return [report("batch-fails-whole", looped, "one failed record fails all records of the batch")];
}

function isIterated({ node, parent }: TreeNode, text: string): boolean {
  if (node.type === "ObjectPattern") return false;
  const owner = parent?.node;
  if (owner?.type === "ForOfStatement") return owner.right === node;
  if (owner?.type !== "MemberExpression") return false;
  const [, word] =
    /^\s*\??\.\s*(map|forEach|length)\b/.exec(text.slice(node.end, node.end + 30)) ?? [];
  const counts = parent?.parent?.parent?.node.type === "ForStatement";
  return word === "map" || word === "forEach" || (word === "length" && counts);
}
