// XML input: parses the documents that clients send; they are not trusted.
//   P1. Document types are refused. Only XML's five entities and numeric character references are
//       decoded, so a document cannot expand or reference anything outside.
//   P2. A document that is not well-formed, or has another root element, is MalformedXML.
//   P3. Text is not changed: a key may begin with a space or look like a number.

import { XMLParser, XMLValidator } from "fast-xml-parser";

const DEPTH_MAX = 16;

/** An element: its text, and its children by name, in order. */
export interface XmlNode {
  readonly text: string;
  readonly children: ReadonlyMap<string, readonly XmlNode[]>;
}

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: true,
  removeNSPrefix: true,
  parseTagValue: false,
  trimValues: false,
  processEntities: false,
  htmlEntities: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  cdataPropName: "#cdata",
});

type RawNode = Readonly<Record<string, unknown>>;

/** Returns the root element if its name is `name`, otherwise null (P2). */
export function parseXml(body: string, name: string): XmlNode | null {
  const start = body.charCodeAt(0) === 0xfeff ? 1 : 0;
  const source = body.slice(start).trimStart();
  if (/<!(DOCTYPE|ENTITY)/i.test(source)) return null; // P1
  if (XMLValidator.validate(source) !== true) return null;
  try {
    const roots = (parser.parse(source) as RawNode[]).filter((node) => !("#text" in node));
    const [root] = roots;
    if (root === undefined || roots.length !== 1) return null;
    const content = root[name];
    return Array.isArray(content) ? nodeOf(content as RawNode[], 1) : null;
  } catch {
    return null;
  }
}

function nodeOf(content: readonly RawNode[], depth: number): XmlNode {
  if (depth > DEPTH_MAX) throw new Error("the XML is nested too deeply");
  let text = "";
  const children = new Map<string, XmlNode[]>();
  for (const raw of content) {
    const [name, value] = Object.entries(raw)[0] ?? ["", ""];
    if (name === "#text") text += decodeEntities(String(value));
    else if (name === "#cdata") text += cdataOf(value);
    else if (Array.isArray(value)) {
      const list = children.get(name) ?? [];
      list.push(nodeOf(value as RawNode[], depth + 1));
      children.set(name, list);
    }
  }
  return { text, children };
}

function cdataOf(value: unknown): string {
  if (!Array.isArray(value)) return "";
  return (value as RawNode[]).map((part) => String(part["#text"] ?? "")).join("");
}

const NAMED: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  amp: "&",
  quot: '"',
  apos: "'",
};

function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&([^;&\s]*);?/g, (whole, body: string) => {
    const numbered = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(body);
    if (numbered === null) {
      const named = whole.endsWith(";") ? NAMED[body] : undefined;
      if (named === undefined) throw new Error(`unknown entity ${whole}`); // P1
      return named;
    }
    const code = numbered[1] === undefined ? Number(numbered[2]) : Number.parseInt(numbered[1], 16);
    const character = String.fromCodePoint(code);
    // A lone surrogate is not a character, and storing it would change it.
    if (!character.isWellFormed()) throw new Error(`invalid character reference ${whole}`);
    return character;
  });
}

/** The text of the first child with that name, or null. */
export function childText(node: XmlNode, name: string): string | null {
  return node.children.get(name)?.[0]?.text ?? null;
}

export function childrenOf(node: XmlNode, name: string): readonly XmlNode[] {
  return node.children.get(name) ?? [];
}
