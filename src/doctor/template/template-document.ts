// Template document: CloudFormation, SAM and serverless.yml as values, with the line of each
// resource.
//   Y1. A short tag is the function that it stands for: `!Ref Orders` is `{ "Ref": "Orders" }`.
//   Y2. A file cannot end the run, and a small one cannot become a huge value: aliases are limited,
//       and one that contains itself is a problem of the file.

import {
  type Alias,
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
import { reasonOf } from "../../core/errors.ts";
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
/** Y2. An alias counts again wherever an alias around it is used. */
const ALIASES_MAX = 1_000;
/** Y2. Values that aliases stand for, over the whole file. */
const ALIASED_NODES_MAX = 100_000;

/** The template in `text`, null if it is none, or the reason why it does not parse. */
export function parseTemplate(
  file: string,
  text: string,
): TemplateDocument | { readonly problem: string } | null {
  try {
    return readTemplate(file, text);
  } catch (error) {
    return { problem: reasonOf(error).split("\n")[0] ?? "" }; // Y2
  }
}

function readTemplate(file: string, text: string): ReturnType<typeof parseTemplate> {
  const counter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: counter,
    logLevel: "silent",
    uniqueKeys: false,
  });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  const lines = new Map<string, number>();
  const reading = { document, counter, lines, open: new Set<Node>(), aliases: 0, aliasedNodes: 0 };
  const root = nodeValue(document.contents, [], reading);
  return isObject(root) ? { file, root, lines } : null;
}

interface Reading {
  readonly document: Document;
  readonly counter: LineCounter;
  readonly lines: Map<string, number>;
  /** What the aliases stand for that are being read. */
  readonly open: Set<Node>;
  aliases: number;
  aliasedNodes: number;
}

function nodeValue(node: unknown, path: readonly string[], reading: Reading): unknown {
  if (isAlias(node)) return aliasValue(node, path, reading);
  if (reading.open.size > 0) reading.aliasedNodes += 1;
  if (reading.aliasedNodes > ALIASED_NODES_MAX) {
    throw new Error(`its aliases stand for more than ${ALIASED_NODES_MAX} values`);
  }
  const value = untagged(node, path, reading);
  const tag = (node as Node | null)?.tag ?? "";
  return /^![A-Za-z]/.test(tag) ? tagged(tag.slice(1), value) : value; // Y1
}

/** Y2 */
function aliasValue(alias: Alias, path: readonly string[], reading: Reading): unknown {
  reading.aliases += 1;
  if (reading.aliases > ALIASES_MAX) throw new Error(`it has more than ${ALIASES_MAX} aliases`);
  const target = alias.resolve(reading.document);
  if (target === undefined) return null;
  if (reading.open.has(target)) throw new Error(`the alias *${alias.source} contains itself`);
  reading.open.add(target);
  const value = nodeValue(target, path, reading);
  reading.open.delete(target);
  return value;
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
