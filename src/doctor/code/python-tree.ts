// Python tree: Python as the tree that JavaScript has, so that one set of patterns reads both.
//   P1. Each call counts as awaited, because Python waits for it. Keyword arguments are an object.
//   P2. Only an except clause for all errors is the handler of a try statement: one for a certain
//       error may be right to end the message.
//   P3. What has no counterpart is a node of its own name, with what is inside of it.
//   P4. A name that is assigned inside of a function may be one that the caller reads: `rebinds`.

import { parser } from "@lezer/python";
import type { AnyNode, SyntaxTree } from "./syntax-tree.ts";
import { treeOf } from "./syntax-tree.ts";

type Cursor = ReturnType<typeof parser.parse>["topNode"];
type Fields = Record<string, unknown>;

const ALL_ERRORS = /^(Exception|BaseException)$/;
const PUNCTUATION = /^[^A-Za-z⚠]+$|^(Comment|AssignOp|UpdateOp|TypeDef)$|^[a-z]+$/;

export function parsePython(text: string): SyntaxTree | { readonly problem: string } {
  return new PythonReader(text).read();
}

class PythonReader {
  readonly #text: string;
  readonly #lineStarts: number[] = [0];

  constructor(text: string) {
    this.#text = text;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
      this.#lineStarts.push(at + 1);
    }
  }

  read(): SyntaxTree | { readonly problem: string } {
    const tree = parser.parse(this.#text);
    let problem: number | null = null;
    tree.iterate({
      enter: ({ type, from }) => {
        if (type.isError) problem ??= from;
      },
    });
    if (problem !== null) return { problem: `unexpected text in line ${this.#lineAt(problem)}` };
    return treeOf(this.#node(tree.topNode), this.#text);
  }

  #lineAt(position: number): number {
    let low = 0;
    let high = this.#lineStarts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= position) low = middle;
      else high = middle;
    }
    return low + 1;
  }

  #made(at: Cursor, type: string, fields: Fields): AnyNode {
    const start = { line: this.#lineAt(at.from), column: 0 };
    return { type, start: at.from, end: at.to, loc: { start, end: start }, ...fields } as never;
  }

  #source(at: Cursor): string {
    return this.#text.slice(at.from, at.to);
  }

  #node(at: Cursor): AnyNode {
    const children = childrenOf(at);
    const parts = children.filter(({ name }) => !PUNCTUATION.test(name));
    const [first, second] = parts;
    const one = (each: Cursor | undefined) => (each === undefined ? null : this.#node(each));
    switch (at.name) {
      case "VariableName":
      case "PropertyName":
        if (this.#source(at) === "self") return this.#made(at, "ThisExpression", {});
        return this.#made(at, "Identifier", { name: this.#source(at) });
      case "String":
      case "Number":
      case "Boolean":
        return this.#made(at, "Literal", { value: literalIn(at.name, this.#source(at)) });
      case "FormatString":
        return this.#made(at, "TemplateLiteral", { expressions: this.#all(parts), quasis: [] });
      case "MemberExpression":
        return this.#made(at, "MemberExpression", {
          object: one(first),
          property: one(second) ?? this.#made(at, "Slice", {}),
          computed: children.some(({ name }) => name === "["),
        });
      case "CallExpression":
        return this.#call(at, first, second);
      case "AwaitExpression":
        return first?.name === "CallExpression"
          ? this.#node(first)
          : this.#made(at, "AwaitExpression", { argument: one(first) });
      case "ParenthesizedExpression":
        return one(first) ?? this.#made(at, "Nothing", {});
      case "DictionaryExpression":
        return this.#made(at, "ObjectExpression", { properties: this.#properties(children) });
      case "LambdaExpression":
        return this.#made(at, "ArrowFunctionExpression", { params: [], body: one(parts.at(-1)) });
      case "FunctionDefinition":
        return this.#function(at, children, parts);
      case "Body":
        return this.#made(at, "BlockStatement", { body: this.#all(parts) });
      case "ForStatement":
        return this.#made(at, "ForOfStatement", {
          left: one(first),
          right: one(parts.at(-2)),
          body: one(parts.at(-1)),
        });
      case "WhileStatement":
        return this.#made(at, "WhileStatement", { test: one(first), body: one(parts.at(-1)) });
      case "TryStatement":
        return this.#try(at, children);
      case "RaiseStatement":
      case "ReturnStatement":
        return this.#made(at, at.name.replace("Raise", "Throw"), { argument: one(first) });
      case "ExpressionStatement":
        return this.#made(at, "ExpressionStatement", { expression: one(first) });
      case "AssignStatement":
      case "UpdateStatement":
        return this.#assignment(at, parts);
      default:
        return this.#made(at, `Python${at.name}`, { parts: this.#all(parts) }); // P3
    }
  }

  #all(list: readonly Cursor[]): readonly AnyNode[] {
    return list.map((each) => this.#node(each));
  }

  #call(at: Cursor, callee: Cursor | undefined, list: Cursor | undefined): AnyNode {
    const positional: AnyNode[] = [];
    const named: AnyNode[] = [];
    const given = list === undefined ? [] : childrenOf(list);
    for (const [index, each] of given.entries()) {
      const [before, after] = [given[index - 1]?.name, given[index + 1]?.name];
      if (PUNCTUATION.test(each.name) || after === "AssignOp") continue;
      if (before === "AssignOp") {
        const key = given[index - 2];
        if (key !== undefined) named.push(this.#property(key, each));
      } else if (before === "**") {
        named.push(this.#made(each, "SpreadElement", { argument: this.#node(each) }));
      } else positional.push(this.#node(each));
    }
    const object =
      named.length === 0 ? [] : [this.#made(at, "ObjectExpression", { properties: named })];
    const call = this.#made(at, "CallExpression", {
      callee: callee === undefined ? this.#made(at, "Nothing", {}) : this.#node(callee),
      arguments: positional.length === 0 ? object : [...positional, ...object],
    });
    return this.#made(at, "AwaitExpression", { argument: call }); // P1
  }

  #property(key: Cursor, value: Cursor): AnyNode {
    const fields = {
      key: this.#node(key),
      value: this.#node(value),
      computed: false,
      kind: "init",
    };
    return this.#made(key, "Property", fields);
  }

  #properties(children: readonly Cursor[]): readonly AnyNode[] {
    return children.flatMap((each, index): readonly AnyNode[] => {
      const key = children[index - 2];
      if (PUNCTUATION.test(each.name)) return [];
      if (children[index - 1]?.name === ":" && key !== undefined)
        return [this.#property(key, each)];
      if (children[index - 1]?.name !== "**") return [];
      return [this.#made(each, "SpreadElement", { argument: this.#node(each) })];
    });
  }

  #function(at: Cursor, children: readonly Cursor[], parts: readonly Cursor[]): AnyNode {
    const list = parts.find(({ name }) => name === "ParamList");
    const body = parts.at(-1);
    const names = list === undefined ? [] : childrenOf(list).filter(isParameterName);
    const [name] = parts;
    return this.#made(at, "FunctionDeclaration", {
      id: name === undefined ? null : this.#node(name),
      params: this.#all(names),
      body: body === undefined ? null : this.#node(body),
      async: children[0]?.name === "async",
    });
  }

  #try(at: Cursor, children: readonly Cursor[]): AnyNode {
    let block: AnyNode | null = null;
    let finalizer: AnyNode | null = null;
    let handler: AnyNode | null = null;
    const others: AnyNode[] = [];
    let errors: string[] = [];
    let word = "";
    for (const each of children) {
      if (each.name !== "Body") {
        if (/^(try|except|else|finally)$/.test(each.name)) {
          word = each.name;
          errors = [];
        } else if (each.name !== "as") errors.push(this.#source(each));
        continue;
      }
      const body = this.#node(each);
      if (word === "try") block = body;
      else if (word === "finally") finalizer = body;
      else if (word === "except") {
        const clause = this.#made(each, "CatchClause", { body });
        const [type] = errors;
        if (type === undefined || ALL_ERRORS.test(type))
          handler = clause; // P2
        else others.push(clause);
      } else others.push(body);
    }
    return this.#made(at, "TryStatement", { block, handler, finalizer, others });
  }

  #assignment(at: Cursor, parts: readonly Cursor[]): AnyNode {
    const [target, value, ...more] = parts;
    if (target === undefined) return this.#made(at, "Nothing", {});
    const simple = at.name === "AssignStatement" && more.length === 0;
    const init = value === undefined ? null : this.#node(value);
    if (simple && target.name === "VariableName") {
      const id = this.#node(target);
      return this.#made(at, "VariableDeclarator", { id, init, rebinds: true }); // P4
    }
    return this.#made(at, "AssignmentExpression", {
      left: this.#node(target),
      right: init,
      more: this.#all(more),
    });
  }
}

function childrenOf(at: Cursor): readonly Cursor[] {
  const children: Cursor[] = [];
  for (let child = at.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

/** A name in a list of parameters that is not a default value. */
function isParameterName(each: Cursor): boolean {
  return each.name === "VariableName" && each.prevSibling?.name !== "AssignOp";
}

function literalIn(kind: string, source: string): string | number | boolean {
  if (kind === "String") return textIn(source);
  return kind === "Number" ? Number(source) : source === "True";
}

/** The text of a string literal, without prefix and quotes. */
function textIn(source: string): string {
  const [, , text = ""] = /^[a-zA-Z]*("""|'''|"|')([\s\S]*)\1$/.exec(source) ?? [];
  return text;
}
