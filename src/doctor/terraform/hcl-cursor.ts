// HCL cursor: a position in the text of a Terraform file, and the steps that a parser takes.

import { HclSyntaxError } from "./hcl-syntax.ts";

const NAME = /[\p{L}_][\p{L}\p{N}_-]*/uy;
const NUMBER = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACES = /[ \t\r]*/y;
const COMMENT = /(?:#|\/\/)[^\n]*|\/\*[\s\S]*?\*\//y;

export class HclCursor {
  readonly text: string;
  at = 0;
  readonly #lineEnds: readonly number[];
  #line = 0;

  constructor(text: string) {
    this.text = text;
    this.#lineEnds = [...text.matchAll(/\n/g)].map(({ index }) => index);
  }

  /** Counted from 1. */
  get line(): number {
    while ((this.#lineEnds[this.#line] ?? Number.POSITIVE_INFINITY) < this.at) this.#line += 1;
    while (this.#line > 0 && (this.#lineEnds[this.#line - 1] ?? 0) >= this.at) this.#line -= 1;
    return this.#line + 1;
  }

  get ended(): boolean {
    return this.at >= this.text.length;
  }

  fail(message: string): never {
    throw new HclSyntaxError(this.line, message);
  }

  /** Skips spaces and comments, and line feeds too if `lines`. */
  skip(lines: boolean): void {
    for (;;) {
      this.match(SPACES);
      if (this.match(COMMENT) !== null) continue;
      if (!lines || this.text[this.at] !== "\n") return;
      this.at += 1;
    }
  }

  /** Whether `word` is next; it is not consumed. */
  sees(word: string): boolean {
    return this.text.startsWith(word, this.at);
  }

  take(word: string): boolean {
    if (!this.sees(word)) return false;
    this.at += word.length;
    return true;
  }

  expect(word: string, where: string): void {
    if (!this.take(word)) this.fail(`"${word}" is expected ${where}, not ${this.#next()}`);
  }

  name(): string | null {
    return this.match(NAME);
  }

  number(): number | null {
    const digits = this.match(NUMBER);
    return digits === null ? null : Number(digits);
  }

  match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const [word] = pattern.exec(this.text) ?? [];
    if (word === undefined) return null;
    this.at += word.length;
    return word;
  }

  /** The rest of the line, which is consumed with its line feed. */
  restOfLine(): string {
    const end = this.text.indexOf("\n", this.at);
    const line = this.text.slice(this.at, end === -1 ? undefined : end);
    this.at = end === -1 ? this.text.length : end + 1;
    return line;
  }

  #next(): string {
    const next = this.text.slice(this.at, this.at + 12).split("\n")[0];
    return this.ended ? "the end of the file" : JSON.stringify(next === "" ? "\n" : next);
  }
}
