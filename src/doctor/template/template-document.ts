// Template document: CloudFormation, SAM and serverless.yml as values, with the line of each
// resource.
//   Y1. A short tag is the function that it stands for: `!Ref Orders` is `{ "Ref": "Orders" }`.

import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
} from "yaml";
import { isObject } from "../../core/is-object.ts";

export type TemplateObject = Readonly<Record<string, unknown>>;

export interface TemplateDocument {
  readonly file: string;
  readonly root: TemplateObject;
  /** The line of a key by its path, such as "Resources/Orders". */
  readonly lines: ReadonlyMap<string, number>;
}

/** Keys deeper than this have no line of their own. */
const LINES_DEEP_MAX = 3;

/** The template in `text`, null if it is none, or the reason why it does not parse. */
export function parseTemplate(
  file: string,
  text: string,
): TemplateDocument | { readonly problem: string } | null {
  const counter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: counter,
    logLevel: "silent",
    uniqueKeys: false,
  });
  const [error] = document.errors;
  if (error !== undefined) return { problem: error.message.split("\n")[0] ?? "" };
  const lines = new Map<string, number>();
  const root = nodeValue(document.contents, [], { document, counter, lines });
  return isObject(root) ? { file, root, lines } : null;
}

interface Reading {
  readonly document: Document;
  readonly counter: LineCounter;
  readonly lines: Map<string, number>;
}

function nodeValue(node: unknown, path: readonly string[], reading: Reading): unknown {
  if (isAlias(node)) return nodeValue(node.resolve(reading.document), path, reading);
  const value = untagged(node, path, reading);
  const tag = (node as Node | null)?.tag ?? "";
  return /^![A-Za-z]/.test(tag) ? tagged(tag.slice(1), value) : value; // Y1
}

function untagged(node: unknown, path: readonly string[], reading: Reading): unknown {
  if (isSeq(node)) return node.items.map((each) => nodeValue(each, path, reading));
  if (isScalar(node)) return node.value;
  if (!isMap(node)) return null;
  const object: Record<string, unknown> = {};
  for (const pair of node.items) {
    if (!isPair(pair)) continue;
    const name = String(isScalar(pair.key) ? pair.key.value : pair.key);
    const inner = [...path, name];
    const start = isScalar(pair.key) ? pair.key.range?.[0] : undefined;
    if (start !== undefined && inner.length <= LINES_DEEP_MAX) {
      reading.lines.set(inner.join("/"), reading.counter.linePos(start).line);
    }
    const value = nodeValue(pair.value, inner, reading);
    if (name === "<<" && isObject(value)) Object.assign(object, value);
    else object[name] = value;
  }
  return object;
}

function tagged(tag: string, value: unknown): TemplateObject {
  if (tag === "Ref" || tag === "Condition") return { [tag]: value };
  if (tag === "GetAtt" && typeof value === "string") {
    const [name = "", ...rest] = value.split(".");
    return { "Fn::GetAtt": [name, rest.join(".")] };
  }
  return { [`Fn::${tag}`]: value };
}
