// HCL template: quoted strings and heredocs, with the expressions inside of them.
//   T1. A template without expressions is a literal. A template directive (%{ if }) makes the whole
//       template opaque.

import type { HclCursor } from "./hcl-cursor.ts";
import type { TerraformExpression } from "./hcl-syntax.ts";

/** Parses the expression at the cursor, inside of a template. */
type ParseInside = () => TerraformExpression;

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  '"': '"',
  "\\": "\\",
};
const UNICODE = /u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}/y;
const HEREDOC = /<<(-?)([\p{L}_][\p{L}\p{N}_-]*)[ \t\r]*\n/uy;

export function parseQuoted(cursor: HclCursor, parseInside: ParseInside): TerraformExpression {
  cursor.take('"');
  const parts = new TemplateParts();
  for (;;) {
    if (cursor.ended || cursor.sees("\n")) cursor.fail("a string is not closed on its line");
    if (cursor.take('"')) return parts.result();
    if (cursor.take("\\")) parts.add(escaped(cursor));
    else parseChar(cursor, parts, parseInside);
  }
}

export function parseHeredoc(cursor: HclCursor, parseInside: ParseInside): TerraformExpression {
  const opening = cursor.match(HEREDOC) ?? cursor.fail("a heredoc needs a name, as in <<EOF");
  const end = opening.replaceAll(/[<\s-]/g, "");
  const parts = new TemplateParts();
  for (;;) {
    if (cursor.ended) cursor.fail(`the heredoc ${end} is not closed`);
    const from = cursor.at;
    if (cursor.restOfLine().trim() === end) {
      if (cursor.text[cursor.at - 1] === "\n") cursor.at -= 1; // It ends the argument too.
      return parts.result();
    }
    cursor.at = from;
    while (!cursor.ended && !cursor.sees("\n")) parseChar(cursor, parts, parseInside);
    if (cursor.take("\n")) parts.add("\n");
  }
}

function parseChar(cursor: HclCursor, parts: TemplateParts, parseInside: ParseInside): void {
  if (cursor.take("$${")) parts.add("${");
  else if (cursor.take("%%{")) parts.add("%{");
  else if (cursor.take("${")) {
    cursor.take("~");
    cursor.skip(true);
    parts.addExpression(parseInside());
    cursor.skip(true);
    cursor.take("~");
    cursor.expect("}", "at the end of a template expression");
  } else if (cursor.take("%{")) {
    while (!cursor.ended && !cursor.sees("}")) cursor.at += 1;
    cursor.expect("}", "at the end of a template directive");
    parts.addExpression({ kind: "opaque" });
  } else {
    parts.add(cursor.text[cursor.at] ?? "");
    cursor.at += 1;
  }
}

function escaped(cursor: HclCursor): string {
  const code = cursor.match(UNICODE);
  if (code !== null) return String.fromCodePoint(Number.parseInt(code.slice(1), 16));
  const char = cursor.text[cursor.at] ?? "";
  cursor.at += 1;
  return ESCAPES[char] ?? cursor.fail(`"\\${char}" is not an escape sequence`);
}

class TemplateParts {
  readonly #parts: TerraformExpression[] = [];
  #text = "";

  add(text: string): void {
    this.#text += text;
  }

  addExpression(expression: TerraformExpression): void {
    this.#flush();
    this.#parts.push(expression);
  }

  result(): TerraformExpression {
    if (this.#parts.length === 0) return { kind: "literal", value: this.#text }; // T1
    this.#flush();
    const [only] = this.#parts;
    if (this.#parts.length === 1 && only !== undefined) return only;
    return { kind: "template", parts: this.#parts };
  }

  #flush(): void {
    if (this.#text !== "") this.#parts.push({ kind: "literal", value: this.#text });
    this.#text = "";
  }
}
