// Syntax tree: JavaScript, TypeScript and JSX as a tree with parents and lines.
//   Y1. Types are not part of the tree, and neither are assertions: `input as Input` is `input`.
//   Y2. Code that cannot be parsed has no tree, and the reason is returned.

import { type ParserOptions, parse } from "@babel/parser";
import type { AnyNode } from "acorn";

export type { AnyNode };

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
    const { program } = parse(text, optionsOf(file, text));
    return treeOf(program as unknown as AnyNode, text);
  } catch (error) {
    return { problem: error instanceof Error ? (error.message.split("\n")[0] ?? "") : "" }; // Y2
  }
}

/** A tree of nodes that some parser made. */
export function treeOf(root: AnyNode, code: string): SyntaxTree {
  return { nodes: nodesOf(root), code, problem: null };
}

function optionsOf(file: string, text: string): ParserOptions {
  const typed = /\.([mc]?ts|tsx)$/.test(file);
  const language = typed ? "typescript" : /@flow\b/.test(text) ? "flow" : "jsx";
  return {
    sourceType: "unambiguous",
    allowReturnOutsideFunction: true,
    allowAwaitOutsideFunction: true,
    errorRecovery: true,
    attachComment: false,
    plugins: [
      "estree",
      "decorators-legacy",
      language,
      ...(file.endsWith("x") ? ["jsx" as const] : []),
    ],
  };
}

/** Nodes that stand for the expression inside of them (Y1). */
const ASSERTIONS: ReadonlySet<string> = new Set([
  "TSAsExpression",
  "TSSatisfiesExpression",
  "TSNonNullExpression",
  "TSTypeAssertion",
  "TSInstantiationExpression",
]);
const TYPES = /^TS(?!Module|ExportAssignment|ParameterProperty|Enum)/;

function nodesOf(root: AnyNode): readonly TreeNode[] {
  const nodes: TreeNode[] = [];
  const waiting: TreeNode[] = [{ node: root, parent: null, line: 1 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    nodes.push(next);
    const children = childrenOf(next.node);
    for (const node of children.toSorted((one, two) => two.start - one.start)) {
      waiting.push({ node, parent: next, line: node.loc?.start.line ?? 1 });
    }
  }
  return nodes;
}

/** The nodes in `node`; assertions are replaced by what they assert (Y1). */
function childrenOf(node: AnyNode): readonly AnyNode[] {
  const fields = node as unknown as Record<string, unknown>;
  return Object.entries(fields).flatMap(([name, value]) => {
    if (Array.isArray(value)) fields[name] = value.map(asserted);
    else fields[name] = asserted(value);
    return [fields[name]].flat().filter(isNode);
  });
}

function asserted(value: unknown): unknown {
  let inner = value as { readonly type?: string; readonly expression?: unknown } | null;
  while (inner !== null && ASSERTIONS.has(inner?.type ?? "")) {
    inner = inner?.expression as typeof inner;
  }
  return inner;
}

function isNode(value: unknown): value is AnyNode {
  if (typeof value !== "object" || value === null) return false;
  const type = Reflect.get(value, "type");
  return (
    typeof type === "string" && typeof Reflect.get(value, "start") === "number" && !TYPES.test(type)
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
  return isFunctionNode(node);
}

export function isFunctionNode({ type }: AnyNode): boolean {
  return FUNCTIONS.has(type);
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
