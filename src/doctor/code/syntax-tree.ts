// Syntax tree: JavaScript and TypeScript as a tree with parents and lines.
//   Y1. Types are replaced by spaces before the code is parsed, so that lines stay as they are.
//   Y2. Code that cannot be parsed has no tree, and the reason is returned.

import { stripTypeScriptTypes } from "node:module";
import { type AnyNode, type Node, parse } from "acorn";

export interface TreeNode {
  readonly node: AnyNode;
  readonly parent: TreeNode | null;
  readonly line: number;
}

export interface SyntaxTree {
  /** In the order of the text. */
  readonly nodes: readonly TreeNode[];
  /** The code to which the positions of the nodes refer. */
  readonly code: string;
  readonly problem: null;
}

export function parseCode(file: string, text: string): SyntaxTree | { readonly problem: string } {
  try {
    const code = /\.[mc]?ts$/.test(file) ? stripTypeScriptTypes(text, { mode: "strip" }) : text; // Y1
    return { nodes: nodesOf(rootOf(code)), code, problem: null };
  } catch (error) {
    return { problem: error instanceof Error ? (error.message.split("\n")[0] ?? "") : "" }; // Y2
  }
}

function rootOf(code: string): Node {
  const options = { ecmaVersion: "latest", locations: true, allowHashBang: true } as const;
  try {
    return parse(code, { ...options, sourceType: "module", allowReturnOutsideFunction: true });
  } catch {
    return parse(code, { ...options, sourceType: "script", allowReturnOutsideFunction: true });
  }
}

function nodesOf(root: Node): readonly TreeNode[] {
  const nodes: TreeNode[] = [];
  const waiting: TreeNode[] = [{ node: root as AnyNode, parent: null, line: 1 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    nodes.push(next);
    const children = Object.values(next.node).flatMap(childrenIn);
    for (const node of children.toSorted((one, two) => two.start - one.start)) {
      waiting.push({ node, parent: next, line: node.loc?.start.line ?? 1 });
    }
  }
  return nodes;
}

function childrenIn(value: unknown): readonly AnyNode[] {
  if (Array.isArray(value)) return value.filter(isNode);
  return isNode(value) ? [value] : [];
}

function isNode(value: unknown): value is AnyNode {
  return (
    typeof value === "object" && value !== null && typeof Reflect.get(value, "type") === "string"
  );
}

/** The node itself, then its parents. */
export function* upwards(from: TreeNode): Generator<TreeNode> {
  for (let at: TreeNode | null = from; at !== null; at = at.parent) yield at;
}

const FUNCTIONS: ReadonlySet<string> = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
]);
const LOOPS: ReadonlySet<string> = new Set([
  "ForStatement",
  "ForOfStatement",
  "ForInStatement",
  "WhileStatement",
  "DoWhileStatement",
]);

export function isFunction({ node }: TreeNode): boolean {
  return FUNCTIONS.has(node.type);
}

export function isLoop({ node }: TreeNode): boolean {
  return LOOPS.has(node.type);
}

/** The innermost function around a node that is not a mere callback; else the whole file. */
export function enclosingFunction(from: TreeNode): TreeNode {
  let last = from;
  for (const each of upwards(from)) {
    last = each;
    if (isFunction(each) && each !== from && each.parent?.node.type !== "CallExpression")
      return each;
  }
  return last;
}

/** Whether `node` is inside of `area`. */
export function within(area: TreeNode, { node }: TreeNode): boolean {
  return node.start >= area.node.start && node.end <= area.node.end;
}

/** The name that is called or constructed: `SendMessageCommand`, `sendMessage`. */
export function calledName({ node }: TreeNode): string | null {
  if (node.type !== "CallExpression" && node.type !== "NewExpression") return null;
  const { callee } = node;
  if (callee.type === "Identifier") return callee.name;
  if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return null;
  return callee.property.name;
}

/** The text of a literal, or of a template without expressions. */
export function literalText(node: AnyNode | undefined | null): string | null {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type !== "TemplateLiteral" || node.expressions.length > 0) return null;
  return node.quasis[0]?.value.cooked ?? null;
}

/** Properties of an object literal by name; null if it is not one, or has a spread. */
export function propertiesOf(node: AnyNode | undefined): ReadonlyMap<string, AnyNode> | null {
  if (node?.type !== "ObjectExpression") return null;
  const properties = new Map<string, AnyNode>();
  for (const property of node.properties) {
    if (property.type !== "Property") return null;
    const { key } = property;
    const name = key.type === "Identifier" && !property.computed ? key.name : literalText(key);
    if (name !== null) properties.set(name, property.value);
  }
  return properties;
}
