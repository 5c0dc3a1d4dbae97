// HCL parser: from the text of a Terraform file to its tree.
//   H1. It reads the native syntax of HCL 2. Parts that are not evaluated, such as splats, are
//       recognised and become "opaque".
//   H2. Text that is not HCL is an HclSyntaxError with its line; nothing is skipped silently.

import { HclCursor } from "./hcl-cursor.ts";
import type { HclAttribute, HclBlock, HclBody, TerraformExpression } from "./hcl-syntax.ts";
import { parseHeredoc, parseQuoted } from "./hcl-template.ts";

/** Blocks and expressions nested deeper than this are refused. */
const DEPTH_MAX = 100;

export function parseHcl(text: string): HclBody {
  const cursor = new HclCursor(text.replace(/^\uFEFF/, ""));
  const body = parseBody(cursor, 0);
  if (!cursor.ended) cursor.fail("a block ends here that was not opened");
  return body;
}

function parseBody(cursor: HclCursor, depth: number): HclBody {
  checkDepth(cursor, depth);
  const attributes: HclAttribute[] = [];
  const blocks: HclBlock[] = [];
  for (;;) {
    cursor.skip(true);
    if (cursor.ended || cursor.sees("}")) return { attributes, blocks };
    const { line } = cursor;
    const name = cursor.name() ?? cursor.fail("an argument or a block is expected");
    cursor.skip(false);
    if (cursor.sees("=") && !cursor.sees("==")) {
      cursor.take("=");
      cursor.skip(false);
      attributes.push({ name, value: parseExpression(cursor, { depth, lines: false }), line });
      endOfLine(cursor);
    } else blocks.push(parseBlock(cursor, name, { line, depth }));
  }
}

function checkDepth(cursor: HclCursor, depth: number): void {
  if (depth > DEPTH_MAX) cursor.fail(`the text is nested more than ${DEPTH_MAX} deep`);
}

function parseBlock(
  cursor: HclCursor,
  type: string,
  { line, depth }: { readonly line: number; readonly depth: number },
): HclBlock {
  const labels: string[] = [];
  for (;;) {
    cursor.skip(false);
    if (cursor.take("{")) break;
    const quoted = cursor.sees('"') ? parseQuoted(cursor, inside(cursor, depth)) : null;
    if (quoted?.kind === "literal") labels.push(String(quoted.value));
    else labels.push(cursor.name() ?? cursor.fail(`"=" or "{" is expected after ${type}`));
  }
  const body = parseBody(cursor, depth + 1);
  cursor.expect("}", `at the end of the block ${[type, ...labels].join(" ")}`);
  return { type, labels, body, line };
}

const inside = (cursor: HclCursor, depth: number) => () =>
  parseExpression(cursor, { depth: depth + 1, lines: true });

function endOfLine(cursor: HclCursor): void {
  cursor.skip(false);
  if (cursor.ended || cursor.sees("}") || cursor.take("\n")) return;
  cursor.fail("a new line is expected after an argument");
}

export interface ExpressionContext {
  readonly depth: number;
  /** Whether line feeds are spaces: inside of brackets. */
  readonly lines: boolean;
}

const OPERATORS: readonly (readonly string[])[] = [
  ["||"],
  ["&&"],
  ["==", "!="],
  ["<=", ">=", "<", ">"],
  ["+", "-"],
  ["*", "/", "%"],
];

export function parseExpression(
  cursor: HclCursor,
  context: ExpressionContext,
): TerraformExpression {
  const { depth, lines } = context;
  checkDepth(cursor, depth);
  const inner = { depth: depth + 1, lines };
  const test = parseOperation(cursor, inner, 0);
  cursor.skip(lines);
  if (!cursor.take("?")) return test;
  cursor.skip(true);
  const then = parseExpression(cursor, inner);
  cursor.skip(true);
  cursor.expect(":", "in a conditional expression");
  cursor.skip(true);
  return { kind: "condition", test, then, otherwise: parseExpression(cursor, inner) };
}

function parseOperation(
  cursor: HclCursor,
  context: ExpressionContext,
  level: number,
): TerraformExpression {
  const operators = OPERATORS[level];
  if (operators === undefined) return parsePostfix(cursor, context);
  let left = parseOperation(cursor, context, level + 1);
  for (;;) {
    cursor.skip(context.lines);
    const operator = operators.find((each) => cursor.sees(each) && !isOther(cursor, each));
    if (operator === undefined) return left;
    cursor.take(operator);
    cursor.skip(true);
    const right = parseOperation(cursor, context, level + 1);
    left = { kind: "operation", operator, left, right };
  }
}

/** `/` starts a comment, `=` belongs to `=>`. */
function isOther(cursor: HclCursor, operator: string): boolean {
  return operator === "/" && (cursor.sees("//") || cursor.sees("/*"));
}

function parsePostfix(cursor: HclCursor, context: ExpressionContext): TerraformExpression {
  checkDepth(cursor, context.depth);
  if (cursor.take("!") || cursor.take("-")) {
    const negative = cursor.text[cursor.at - 1] === "-";
    cursor.skip(context.lines);
    const value = parsePostfix(cursor, { ...context, depth: context.depth + 1 });
    if (negative && value.kind === "literal" && typeof value.value === "number") {
      return { kind: "literal", value: -value.value };
    }
    return negative
      ? { kind: "opaque" }
      : { kind: "operation", operator: "!", left: value, right: value };
  }
  let value = parsePrimary(cursor, context);
  for (;;) {
    if (cursor.sees("...") || !(cursor.sees(".") || cursor.sees("["))) return value;
    value = cursor.take(".") ? parseMember(cursor, value) : parseIndex(cursor, value, context);
  }
}

function parseMember(cursor: HclCursor, of: TerraformExpression): TerraformExpression {
  if (cursor.take("*")) return { kind: "opaque" };
  const name = cursor.name();
  if (name === null) {
    const at = cursor.number() ?? cursor.fail("a name is expected after a dot");
    return { kind: "member", of, key: { kind: "literal", value: at } };
  }
  if (of.kind === "reference") return { kind: "reference", path: [...of.path, name] };
  return { kind: "member", of, key: { kind: "literal", value: name } };
}

function parseIndex(
  cursor: HclCursor,
  of: TerraformExpression,
  { depth }: ExpressionContext,
): TerraformExpression {
  cursor.take("[");
  cursor.skip(true);
  if (cursor.take("*")) {
    cursor.skip(true);
    cursor.expect("]", "after [*");
    return { kind: "opaque" };
  }
  const key = parseExpression(cursor, { depth: depth + 1, lines: true });
  cursor.skip(true);
  cursor.expect("]", "after an index");
  // Resources with count or for_each are alike, so an index does not matter.
  const counted = of.kind === "reference" && isResource(of.path);
  return counted ? of : { kind: "member", of, key };
}

/** `aws_sqs_queue.q`, `data.aws_region.r` or `module.m`: the rest of a path comes after the index. */
function isResource([root = "", ...rest]: readonly string[]): boolean {
  if (["local", "var", "each", "self", "count"].includes(root)) return false;
  return rest.length === (root === "data" ? 2 : 1);
}

function parsePrimary(cursor: HclCursor, context: ExpressionContext): TerraformExpression {
  if (cursor.sees('"')) return parseQuoted(cursor, inside(cursor, context.depth));
  if (cursor.sees("<<")) return parseHeredoc(cursor, inside(cursor, context.depth));
  if (cursor.sees("[")) return parseList(cursor, context.depth);
  if (cursor.sees("{")) return parseObject(cursor, context.depth);
  if (cursor.take("(")) {
    cursor.skip(true);
    const value = parseExpression(cursor, { depth: context.depth + 1, lines: true });
    cursor.skip(true);
    cursor.expect(")", "after an expression in parentheses");
    return value;
  }
  const number = cursor.number();
  if (number !== null) return { kind: "literal", value: number };
  const name = cursor.name() ?? cursor.fail("an expression is expected");
  if (name === "true" || name === "false") return { kind: "literal", value: name === "true" };
  if (name === "null") return { kind: "literal", value: null };
  if (cursor.take("::")) return parsePrimary(cursor, context); // A function of a provider.
  return cursor.sees("(")
    ? parseCall(cursor, name, context.depth)
    : { kind: "reference", path: [name] };
}

function parseCall(cursor: HclCursor, name: string, depth: number): TerraformExpression {
  cursor.take("(");
  const given: TerraformExpression[] = [];
  for (;;) {
    cursor.skip(true);
    if (cursor.take(")")) return { kind: "call", name, arguments: given };
    given.push(parseExpression(cursor, { depth: depth + 1, lines: true }));
    cursor.skip(true);
    cursor.take("...");
    cursor.skip(true);
    if (!cursor.sees(")")) cursor.expect(",", `between the arguments of ${name}()`);
  }
}

const FOR = /for\s/y;

function parseList(cursor: HclCursor, depth: number): TerraformExpression {
  cursor.take("[");
  cursor.skip(true);
  if (cursor.match(FOR) !== null) return parseFor(cursor, "]", depth);
  const items: TerraformExpression[] = [];
  for (;;) {
    cursor.skip(true);
    if (cursor.take("]")) return { kind: "list", items };
    items.push(parseExpression(cursor, { depth: depth + 1, lines: true }));
    cursor.skip(true);
    if (!cursor.sees("]")) cursor.expect(",", "between the items of a list");
  }
}

function parseObject(cursor: HclCursor, depth: number): TerraformExpression {
  cursor.take("{");
  cursor.skip(true);
  if (cursor.match(FOR) !== null) return parseFor(cursor, "}", depth);
  const entries: { key: TerraformExpression; value: TerraformExpression }[] = [];
  for (;;) {
    cursor.skip(true);
    if (cursor.take("}")) return { kind: "object", entries };
    const name = cursor.name();
    const key: TerraformExpression =
      name === null
        ? parseExpression(cursor, { depth: depth + 1, lines: false })
        : { kind: "literal", value: name };
    cursor.skip(true);
    if (!cursor.take("=>") && !cursor.take("=")) cursor.expect(":", "after a key of an object");
    cursor.skip(true);
    entries.push({ key, value: parseExpression(cursor, { depth: depth + 1, lines: false }) });
    cursor.skip(false);
    if (!cursor.take(",") && !cursor.sees("\n") && !cursor.sees("}")) {
      cursor.fail("a comma or a new line is expected between the entries of an object");
    }
  }
}

/** A `for` expression after its first word, up to its closing bracket. */
function parseFor(cursor: HclCursor, close: string, depth: number): TerraformExpression {
  const names: string[] = [];
  do {
    cursor.skip(true);
    names.push(cursor.name() ?? cursor.fail("a name is expected after for"));
    cursor.skip(true);
  } while (cursor.take(","));
  cursor.match(/in\s/y) ?? cursor.fail('"in" is expected in a for expression');
  const part = (before: string) => {
    cursor.skip(true);
    cursor.expect(before, "in a for expression");
    cursor.skip(true);
    const value = parseExpression(cursor, { depth: depth + 1, lines: true });
    cursor.skip(true);
    return value;
  };
  const of = part("");
  const first = part(":");
  const second = close === "}" ? part("=>") : null;
  const grouped = cursor.take("...");
  cursor.skip(true);
  const test = cursor.sees("if") ? part("if") : null;
  cursor.expect(close, "at the end of a for expression");
  if (grouped) return { kind: "opaque" };
  const key = second === null ? null : first;
  return { kind: "for", names, of, key, value: second ?? first, test };
}
