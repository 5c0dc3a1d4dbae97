// Consumer work: which calls may process a message, and which are a matter of the queue or a log.

import type { CodeContext } from "./code-context.ts";
import { hasParameter } from "./handlers.ts";
import {
  type AnyNode,
  calledName,
  isFunction,
  isLoop,
  type TreeNode,
  upwards,
} from "./syntax-tree.ts";

const PURE =
  /^(log|info|debug|warn|warning|error|exception|print|parse|stringify|loads|dumps|push|append|send|map|filter|slice|destroy|get|len|str|range|resolve|all|allSettled|forEach|keys|values|entries|split|join|toString|now|client|resource|sleep|from|isArray|includes|format|promise|then|int|float|list|dict|set|enumerate|items|strip|lower|upper|decode|encode|b64decode|getenv|isoformat|utcnow|time|getLogger|isinstance|add|extend)$/;
const OF_QUEUE =
  /^(receive|delete|changeMessage|change_message|sendMessage|send_message|sleep|setTimeout)/i;
const HANDS_OVER =
  /^(handle|on[A-Z]|process|callback|listener|emit|execute|consume|invoke|run|fn$|cb$)/;

/** A call that may process a message: not one of a logger or of the queue itself. */
export function isWork(at: TreeNode): boolean {
  if (at.node.type !== "CallExpression") return false;
  const name = calledName(at);
  return name !== null && !PURE.test(name) && !OF_QUEUE.test(name);
}

const STARTS =
  /^(basicConfig|load_dotenv|parse_args|add_argument|exit|signal|main|on|listen|connect)$/;

/** Work that is done while messages are received: neither at the start, nor in the file itself. */
export function isOwnWork({ constants }: CodeContext, at: TreeNode): boolean {
  if (at.node.type !== "CallExpression" || !isWork(at)) return false;
  if (STARTS.test(calledName(at) ?? "")) return false;
  if (constants.functionOf(at.node.callee as AnyNode) !== null) return false;
  return [...upwards(at)].some((each) => isFunction(each) || isLoop(each));
}

/** A call of a function that the file gets from outside: what it does is not known. */
export function isInjected({ constants }: CodeContext, at: TreeNode): boolean {
  const { node } = at;
  if (node.type !== "CallExpression" || constants.functionOf(node.callee as AnyNode) !== null) {
    return false;
  }
  const callee = node.callee as AnyNode;
  if (callee.type === "Identifier") return isParameter(at, callee.name);
  if (callee.type !== "MemberExpression" || !HANDS_OVER.test(calledName(at) ?? "")) return false;
  let root = callee.object as AnyNode;
  while (root.type === "MemberExpression") root = root.object as AnyNode;
  return (
    root.type === "ThisExpression" || (root.type === "Identifier" && isParameter(at, root.name))
  );
}

function isParameter(at: TreeNode, name: string): boolean {
  return [...upwards(at)].some((each) => isFunction(each) && hasParameter(each, name));
}
