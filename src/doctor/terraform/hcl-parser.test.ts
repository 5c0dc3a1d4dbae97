import { parse } from "@cdktf/hcl2json";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FIFO_TF, STANDARD_TF } from "../../../test/support/doctor/terraform-bases.ts";
import { TERRAFORM_CORPUS } from "../../../test/support/doctor/terraform-corpus.ts";
import { parseHcl } from "./hcl-parser.ts";
import { type HclBody, HclSyntaxError, type TerraformExpression } from "./hcl-syntax.ts";

const SYNTAX_TF = `
# Everything that the grammar has.
locals {
  sum       = 1 + 2 * 3 % 4 - -5 // a comment
  text      = "a \\"quoted\\" \\u00e9 $\${not} %%{not} text\\n"
  joined    = "\${var.a}-\${var.b}" /* another */
  condition = var.a == "x" && !var.b || var.c >= 3 ? [1, 2, 3] : []
  list = [
    "a",
    "b", # with a comment
  ]
  object = {
    plain = 1, "quoted key" = 2
    (var.key) = 3
    colon : true
  }
  pairs   = [for k, v in var.map : "\${k}=\${v}" if v != ""]
  mapped  = { for k, v in var.map : upper(k) => v... }
  splat   = aws_sqs_queue.all[*].arn
  legacy  = aws_sqs_queue.all.*.arn
  indexed = aws_sqs_queue.all[0].tags["a"]
  called  = merge(var.a, { b = 1 }, var.c...)
  number  = 1.5e3
  nothing = null
  heredoc = <<-EOT
    first \${var.a}
      second
    EOT
  after   = true
}

variable "one_line" { default = "x" }

resource "aws_sqs_queue" "q" {
  dynamic "filter" {
    for_each = var.filters
    content { name = filter.value }
  }
}
`;

const EXPRESSION = "(expression)";

/** Our tree in the form of hcl2json, with every expression that is not a literal alike. */
function asJson(body: HclBody): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const { name, value } of body.attributes) result[name] = literalOf(value);
  for (const { type, labels, body: inner } of body.blocks) {
    let at = result;
    const path = [type, ...labels];
    for (const part of path.slice(0, -1)) {
      at[part] ??= {};
      at = at[part] as Record<string, unknown>;
    }
    const last = path.at(-1) ?? "";
    at[last] = [...((at[last] as unknown[]) ?? []), asJson(inner)];
  }
  return result;
}

function literalOf(value: TerraformExpression): unknown {
  if (value.kind === "literal") return value.value;
  if (value.kind === "list") return value.items.map(literalOf);
  if (value.kind !== "object") return EXPRESSION;
  const entries = value.entries.map(({ key, value: each }) => [literalOf(key), literalOf(each)]);
  return Object.fromEntries(entries);
}

/** The output of hcl2json in the same form. */
function withoutExpressions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutExpressions);
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([key, each]) => [
      key.startsWith("${") ? EXPRESSION : key,
      withoutExpressions(each),
    ]);
    return Object.fromEntries(entries);
  }
  if (typeof value !== "string") return value;
  const unescaped = value.replaceAll("$${", "\u0000").replaceAll("%%{", "\u0001");
  if (unescaped.includes("${")) return EXPRESSION;
  return unescaped.replaceAll("\u0000", "${").replaceAll("\u0001", "%{");
}

describe("the parser agrees with HashiCorp's own", () => {
  const texts = [
    SYNTAX_TF,
    ...new Set(TERRAFORM_CORPUS.map(({ files }) => files["main.tf"] ?? "")),
  ];

  test("on every file of the corpus", async () => {
    for (const text of texts) {
      const theirs = withoutExpressions(await parse("main.tf", text));
      expect(asJson(parseHcl(text))).toEqual(theirs);
    }
  });

  test.each([
    'resource "a" {{',
    "a =",
    'a = "x',
    "x { a = 1",
    "a = [1 2]",
    "}",
    "a = 1 b = 2",
    'a = "\\q"',
    "a = <<EOF\nx\n",
    "a = { b = }",
    "a = f(1 2)",
    "a = (1",
    "a = [for x y : z]",
    "a = b.",
    "a = b[",
    "a = 1 ? 2",
    "1 = a",
  ])("on text that is not HCL: %j", async (text) => {
    await expect(parse("main.tf", text)).rejects.toThrow();
    expect(() => parseHcl(text)).toThrow(HclSyntaxError);
  });
});

test("damaged text is parsed, or refused with a line that it has", () => {
  const damaged = fc.tuple(
    fc.constantFrom(STANDARD_TF, FIFO_TF, SYNTAX_TF),
    fc.nat(4_000),
    fc.nat(40),
    fc.constantFrom("", "{", "}", '"', "${", "<<EOF", "[", ")", "=", "\n", "?", "é"),
  );
  fc.assert(
    fc.property(damaged, ([text, from, length, instead]) => {
      const cut = `${text.slice(0, from)}${instead}${text.slice(from + length)}`;
      try {
        parseHcl(cut);
      } catch (error) {
        expect(error).toBeInstanceOf(HclSyntaxError);
        const { line } = error as HclSyntaxError;
        expect(line).toBeGreaterThan(0);
        expect(line).toBeLessThanOrEqual(cut.split("\n").length);
      }
    }),
    { numRuns: 500 },
  );
});

test("nesting is limited, so that no text overflows the stack", () => {
  expect(() => parseHcl(`a = ${"[".repeat(5_000)}`)).toThrow(/nested more than/);
  expect(() => parseHcl("a {".repeat(5_000))).toThrow(/nested more than/);
  expect(() => parseHcl(`a = ${"!".repeat(50_000)}b`)).toThrow(/nested more than/);
});
