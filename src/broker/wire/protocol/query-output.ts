// Query output: writes an action's output as XML, or as JSON if a query request asks for it.
//   X1. A carriage return is written as &#xD;; XML parsers would normalize it to a newline.
//   X2. Characters that XML cannot represent become U+FFFD. They only occur in messages that echo
//       the client's input, because stored values with such characters are refused.
//   X3. The JSON of a query request has every field, null if absent, and writes maps as lists of
//       pairs. API Gateway passes this format on to its SQS integrations.

import type { Shape, StructureShape } from "./shape.ts";

/** How the documents of one service differ. */
export interface QueryStyle {
  readonly namespace: string;
  /** SQS ends its errors with an empty <Detail/> element; SNS does not. */
  readonly errorDetail: boolean;
}

/** A complete response document; `shape` is null for an action without output. */
export function writeXmlResponse(
  style: QueryStyle,
  action: string,
  shape: StructureShape | null,
  output: object | null,
  requestId: string,
): string {
  const content = shape === null ? "" : writeElement(`${action}Result`, writeFields(shape, output));
  return (
    `<?xml version="1.0"?><${action}Response xmlns="${style.namespace}">${content}` +
    `<ResponseMetadata><RequestId>${escapeXml(requestId)}</RequestId></ResponseMetadata>` +
    `</${action}Response>`
  );
}

export interface QueryError {
  readonly side: "Sender" | "Receiver";
  readonly code: string;
  readonly message: string;
}

export function writeXmlError(style: QueryStyle, error: QueryError, requestId: string): string {
  const detail = style.errorDetail ? "<Detail/>" : "";
  return (
    `<?xml version="1.0"?><ErrorResponse xmlns="${style.namespace}"><Error>` +
    `<Type>${error.side}</Type><Code>${error.code}</Code>` +
    `<Message>${escapeXml(error.message)}</Message>${detail}</Error>` +
    `<RequestId>${escapeXml(requestId)}</RequestId></ErrorResponse>`
  );
}

export function writeJsonResponse(
  _style: QueryStyle,
  action: string,
  shape: StructureShape | null,
  output: object | null,
  requestId: string,
): string {
  const result = shape === null ? {} : { [`${action}Result`]: showStructure(shape, output) };
  return JSON.stringify({
    [`${action}Response`]: { ...result, ResponseMetadata: { RequestId: requestId } },
  });
}

export function writeJsonError(_style: QueryStyle, error: QueryError, requestId: string): string {
  return JSON.stringify({
    Error: { Code: error.code, Detail: null, Message: error.message, Type: error.side },
    RequestId: requestId,
  });
}

const UNSAFE = /[^\t\n !#-%'-;=?-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\r": "&#xD;", // X1
};

export function escapeXml(value: string): string {
  return value.replace(UNSAFE, (character) => ENTITIES[character] ?? "\uFFFD"); // X2
}

function writeElement(name: string, content: string): string {
  return content === "" ? `<${name}/>` : `<${name}>${content}</${name}>`;
}

function writeFields(shape: StructureShape, output: object | null): string {
  const values = output as Readonly<Record<string, unknown>> | null;
  let xml = "";
  for (const [name, field] of Object.entries(shape.fields)) {
    const value = values?.[name];
    if (value !== undefined && value !== null) xml += writeField(name, field, value);
  }
  return xml;
}

function writeField(name: string, shape: Shape, value: unknown): string {
  switch (shape.kind) {
    case "list": {
      const elements = value as readonly unknown[];
      const written = elements.map((element) => writeField(shape.query, shape.member, element));
      return wrap(name, shape.wrapped, written);
    }
    case "map": {
      const pairs = Object.entries(value as Readonly<Record<string, unknown>>);
      const written = pairs.map(([key, entry]) => {
        const name = `<${shape.key}>${escapeXml(key)}</${shape.key}>`;
        return writeElement(shape.query, name + writeField(shape.valueKey, shape.value, entry));
      });
      return wrap(name, shape.wrapped, written);
    }
    case "structure":
      return writeElement(name, writeFields(shape, value as object));
    default:
      return `<${name}>${escapeXml(String(value))}</${name}>`;
  }
}

function wrap(name: string, wrapped: boolean, elements: readonly string[]): string {
  const content = elements.join("");
  return wrapped ? writeElement(name, content) : content;
}

function showStructure(shape: StructureShape, output: object | null): object {
  const values = output as Readonly<Record<string, unknown>> | null;
  const shown: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(shape.fields)) {
    const key = (field.kind === "list" ? field.jsonVariant : null) ?? name;
    const value = values?.[name];
    shown[key] = value === undefined || value === null ? null : show(field, value); // X3
  }
  return shown;
}

function show(shape: Shape, value: unknown): unknown {
  switch (shape.kind) {
    case "list":
      return (value as readonly unknown[]).map((element) => show(shape.member, element));
    case "map":
      return Object.entries(value as Readonly<Record<string, unknown>>).map(([key, entry]) => ({
        [shape.key]: key,
        [shape.valueKey]: show(shape.value, entry),
      }));
    case "structure":
      return showStructure(shape, value as object);
    default:
      return value;
  }
}
