// HCL: writes values and attributes in Terraform's language, formatted as `terraform fmt` does.
//   H1. Text is quoted so that Terraform reads it literally: no value can become an expression.
//   H2. Equals signs of neighbouring attributes are aligned, and an attribute of several lines ends
//       a group.

/** An expression that is written as it is. */
export interface HclExpression {
  readonly expression: string;
}

export type HclValue =
  | string
  | number
  | boolean
  | null
  | HclExpression
  | readonly HclValue[]
  | { readonly [name: string]: HclValue };

const INDENT = "  ";

export function expression(text: string): HclExpression {
  return { expression: text };
}

/** The text of a value; lines after the first are indented by `depth`. */
export function hclValue(value: HclValue, depth = 0): string {
  if (typeof value === "string") return hclText(value);
  if (value === null || typeof value !== "object") return String(value);
  if (isExpression(value)) return value.expression;
  if (isList(value)) return hclList(value, depth);
  return `{\n${hclAttributes(value, depth + 1)}\n${INDENT.repeat(depth)}}`;
}

/** Attributes of a block or an object, one per line (H2). */
export function hclAttributes(
  attributes: { readonly [name: string]: HclValue },
  depth: number,
): string {
  const lines = Object.entries(attributes).map(([name, value]) => ({
    name: /^[A-Za-z_][\w-]*$/.test(name) ? name : hclText(name),
    text: hclValue(value, depth),
  }));
  const isSingle = (at: number) => lines[at]?.text.includes("\n") === false;
  return lines
    .map(({ name, text }, at) => {
      if (!isSingle(at)) return `${INDENT.repeat(depth)}${name} = ${text}`;
      let [first, last] = [at, at];
      while (isSingle(first - 1)) first -= 1;
      while (isSingle(last + 1)) last += 1;
      const width = Math.max(...lines.slice(first, last + 1).map((line) => line.name.length));
      return `${INDENT.repeat(depth)}${name.padEnd(width)} = ${text}`;
    })
    .join("\n");
}

/** A block with a blank line between single values and what spans lines is left to the caller. */
export function hclBlock(head: string, attributes: { readonly [name: string]: HclValue }): string {
  return `${head} {\n${hclAttributes(attributes, 1)}\n}\n`;
}

function hclList(items: readonly HclValue[], depth: number): string {
  if (items.length === 0) return "[]";
  const texts = items.map((item) => hclValue(item, depth + 1));
  const line = `[${texts.join(", ")}]`;
  const spansLines = texts.some((text) => text.includes("\n"));
  if (!spansLines && line.length + depth * INDENT.length <= LINE_CHARACTERS_MAX) return line;
  const inner = INDENT.repeat(depth + 1);
  return `[\n${texts.map((text) => `${inner}${text},\n`).join("")}${INDENT.repeat(depth)}]`;
}

const LINE_CHARACTERS_MAX = 70;

/** A quoted text (H1). */
function hclText(text: string): string {
  const quoted = JSON.stringify(text);
  return quoted.replaceAll("$" + "{", "$$" + "{").replaceAll("%{", "%%{");
}

function isExpression(value: object): value is HclExpression {
  return "expression" in value && typeof value.expression === "string";
}

function isList(value: HclValue): value is readonly HclValue[] {
  return Array.isArray(value);
}
