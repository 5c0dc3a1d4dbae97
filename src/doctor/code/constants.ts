// Constants: the value behind a name, as far as one file shows it.
//   B1. A name is followed to the one declaration that its scope has, if nothing assigns it again.
//   B2. An object grows by later assignments to its properties (`input.WaitTimeSeconds = 20`). A
//       spread or a computed name that cannot be followed makes the object unknown.

import {
  type AnyNode,
  isFunction,
  isFunctionNode,
  literalText,
  type SyntaxTree,
  type TreeNode,
  upwards,
} from "./syntax-tree.ts";

/** Names that stand for other names beyond these are not followed. */
const STEPS_MAX = 5;

interface Declaration {
  readonly init: AnyNode | null;
  /** The function that it is in, or the file. */
  readonly scope: TreeNode | undefined;
}

export class Constants {
  readonly #declared = new Map<string, Declaration[]>();
  readonly #assigned = new Set<string>();
  readonly #properties = new Map<string, (readonly [string, AnyNode])[]>();
  readonly #functions = new Map<string, AnyNode[]>();
  readonly #positions = new Map<AnyNode, TreeNode>();

  constructor({ nodes }: SyntaxTree) {
    for (const at of nodes) {
      this.#positions.set(at.node, at);
      this.#read(at);
    }
  }

  #read(at: TreeNode): void {
    const { node } = at;
    if (node.type === "VariableDeclarator" && node.id.type === "Identifier") {
      listIn(this.#declared, node.id.name).push({ init: node.init ?? null, scope: scopeOf(at) });
      this.#declareFunction(node.id.name, node.init);
    }
    if (node.type === "FunctionDeclaration" && node.id != null) {
      this.#declareFunction(node.id.name, node);
    }
    if (node.type === "MethodDefinition" || node.type === "PropertyDefinition") {
      if (node.key.type === "Identifier") this.#declareFunction(node.key.name, node.value);
    }
    if (node.type === "UpdateExpression" && node.argument.type === "Identifier") {
      this.#assigned.add(node.argument.name);
    }
    if (node.type !== "AssignmentExpression") return;
    const { left, right } = node;
    if (left.type === "Identifier") this.#assigned.add(left.name);
    if (left.type !== "MemberExpression" || left.object.type !== "Identifier") return;
    const name = memberName(left);
    listIn(this.#properties, left.object.name).push([name ?? "", right]); // B2
  }

  #declareFunction(name: string, value: AnyNode | null | undefined): void {
    if (value != null && isFunctionNode(value)) listIn(this.#functions, name).push(value);
  }

  /** What an expression stands for; itself if it cannot be followed (B1). */
  of(node: AnyNode | undefined | null, from?: TreeNode): AnyNode | undefined {
    let value = node ?? undefined;
    for (let step = 0; step < STEPS_MAX && value?.type === "Identifier"; step += 1) {
      const { name } = value;
      if (this.#assigned.has(name)) return value;
      const declaration = this.#visible(this.#declared.get(name) ?? [], from);
      if (declaration?.init == null) return value;
      value = declaration.init;
    }
    return value;
  }

  /** The declaration that is visible at `from`: the innermost, if there is only one. */
  #visible(all: readonly Declaration[], from: TreeNode | undefined): Declaration | undefined {
    if (from === undefined) return all.length === 1 ? all[0] : undefined;
    for (const each of [...upwards(from)]) {
      const own = all.filter(({ scope }) => scope?.node === each.node);
      if (own.length > 0) return own.length === 1 ? own[0] : undefined;
    }
    return undefined;
  }

  /** Properties of an object by name; null if they are not all known (B2). */
  properties(node: AnyNode | undefined, from?: TreeNode): ReadonlyMap<string, AnyNode> | null {
    const object = this.of(node, from);
    if (object?.type !== "ObjectExpression") return null;
    const properties = new Map<string, AnyNode>();
    for (const property of object.properties) {
      if (property.type === "SpreadElement") {
        const inner = this.properties(property.argument as AnyNode, from);
        if (inner === null) return null;
        for (const [name, value] of inner) properties.set(name, value);
        continue;
      }
      const { key } = property;
      const name = key.type === "Identifier" && !property.computed ? key.name : literalText(key);
      if (name !== null) properties.set(name, property.value as AnyNode);
    }
    if (node?.type !== "Identifier") return properties;
    for (const [name, value] of this.#properties.get(node.name) ?? []) {
      if (name === "") return null;
      properties.set(name, value);
    }
    return properties;
  }

  number(node: AnyNode | undefined, from?: TreeNode): number | null {
    const value = this.of(node, from);
    return value?.type === "Literal" && typeof value.value === "number" ? value.value : null;
  }

  /** The function of that name, or the function itself; null if it is not in the file. */
  functionOf(node: AnyNode | undefined | null): TreeNode | null {
    if (node == null) return null;
    if (isFunctionNode(node)) return this.#positions.get(node) ?? null;
    if (node.type === "CallExpression" && isMember(node.callee, "bind")) {
      return this.functionOf((node.callee as { object?: AnyNode }).object);
    }
    const name =
      node.type === "Identifier" ? node.name : isThisMember(node) ? memberName(node) : null;
    const [first, ...others] = (name === null ? undefined : this.#functions.get(name)) ?? [];
    if (first === undefined || others.length > 0) return null;
    return this.#positions.get(first) ?? null;
  }
}

function scopeOf(at: TreeNode): TreeNode | undefined {
  const all = [...upwards(at)];
  return all.find((each) => isFunction(each)) ?? all.at(-1);
}

function listIn<T>(map: Map<string, T[]>, name: string): T[] {
  const list = map.get(name) ?? [];
  map.set(name, list);
  return list;
}

/** The name of `object.name` and `object["name"]`. */
export function memberName(node: AnyNode | undefined | null): string | null {
  if (node?.type !== "MemberExpression") return null;
  const { property, computed } = node;
  return property.type === "Identifier" && !computed
    ? property.name
    : literalText(property as AnyNode);
}

function isMember(node: unknown, name: string): boolean {
  return memberName(node as AnyNode) === name;
}

function isThisMember(node: AnyNode): boolean {
  return node.type === "MemberExpression" && node.object.type === "ThisExpression";
}
