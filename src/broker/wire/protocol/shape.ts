// Shapes: the input and output of each action, defined once for both protocols. JSON checks its
// input against a shape; the query protocol decodes its input and writes its XML from one.
//   W1. A structure lists all of its fields; unknown fields of a request are ignored, as AWS does.
//   W2. Every field may be absent, and null means absent. The action decides which fields are
//       required, and with which fault.
//   W3. SQS flattens lists and maps in the query protocol: `query` names one element of them. SNS
//       wraps them: the elements are children of the field's own name.

/** `of` never exists at run time; it carries the type of the values that the shape describes. */
interface Typed<T> {
  readonly of?: T;
}

export interface TextShape extends Typed<string> {
  readonly kind: "string";
}

export interface IntegerShape extends Typed<number> {
  readonly kind: "integer";
}

export interface BooleanShape extends Typed<boolean> {
  readonly kind: "boolean";
}

/** Bytes, encoded as base64 in both protocols. */
export interface BlobShape extends Typed<string> {
  readonly kind: "blob";
}

export interface ListShape<T = unknown> extends Typed<T> {
  readonly kind: "list";
  readonly member: Shape;
  /** `AttributeName` in `AttributeName.1`, and the name of each element in XML. */
  readonly query: string;
  /** Its name in the JSON response to a query request, if it differs from the field's. */
  readonly jsonVariant: string | null;
  readonly wrapped: boolean;
}

export interface MapShape<T = unknown> extends Typed<T> {
  readonly kind: "map";
  readonly value: Shape;
  readonly query: string;
  /** `Name` in `Attribute.1.Name`; tags use `Key`, and SNS attributes `key`. */
  readonly key: "Name" | "Key" | "key";
  readonly valueKey: "Value" | "value";
  readonly wrapped: boolean;
}

export interface StructureShape<T = unknown> extends Typed<T> {
  readonly kind: "structure";
  readonly fields: Fields;
}

export type Shape =
  | TextShape
  | IntegerShape
  | BooleanShape
  | BlobShape
  | ListShape
  | MapShape
  | StructureShape;

export type Fields = { readonly [name: string]: Shape };

/** The type of the values that a shape describes. */
export type ValueOf<S> = S extends Typed<infer T> ? T : never;

/** The type of a structure with these fields (W2). */
export type FieldsOf<F extends Fields> = {
  readonly [K in keyof F]?: ValueOf<F[K]> | null | undefined;
};

export const textShape: TextShape = { kind: "string" };
export const integerShape: IntegerShape = { kind: "integer" };
export const booleanShape: BooleanShape = { kind: "boolean" };
export const blob: BlobShape = { kind: "blob" };

export function list<M extends Shape>(
  query: string,
  member: M,
  jsonVariant: string | null = null,
): ListShape<readonly ValueOf<M>[]> {
  return { kind: "list", member, query, jsonVariant, wrapped: false };
}

/** A list as SNS writes it: `Tags.member.1`, `<Tags><member>`. */
export function members<M extends Shape>(member: M): ListShape<readonly ValueOf<M>[]> {
  return { kind: "list", member, query: "member", jsonVariant: null, wrapped: true };
}

export function map<V extends Shape>(
  query: string,
  key: "Name" | "Key",
  value: V,
): MapShape<Readonly<Record<string, ValueOf<V>>>> {
  return { kind: "map", value, query, key, valueKey: "Value", wrapped: false };
}

/** A map as SNS writes it: `Attributes.entry.1.key`, `<Attributes><entry><key>`. */
export function entries<V extends Shape>(
  key: "Name" | "key",
  value: V,
): MapShape<Readonly<Record<string, ValueOf<V>>>> {
  const valueKey = key === "key" ? "value" : "Value";
  return { kind: "map", value, query: "entry", key, valueKey, wrapped: true };
}

export function structureShape<F extends Fields>(fields: F): StructureShape<FieldsOf<F>> {
  return { kind: "structure", fields };
}

/** A message attribute as AWS defines it. The list values exist only in the API definition. */
export const messageAttributeValue = structureShape({
  StringValue: textShape,
  BinaryValue: blob,
  StringListValues: list("StringListValue", textShape),
  BinaryListValues: list("BinaryListValue", blob),
  DataType: textShape,
});

export type MessageAttributeInput = ValueOf<typeof messageAttributeValue>;

export const messageAttributes = map("MessageAttribute", "Name", messageAttributeValue);
export const messageSystemAttributes = map("MessageSystemAttribute", "Name", messageAttributeValue);
export const queueAttributes = map("Attribute", "Name", textShape);
export const tags = map("Tag", "Key", textShape);
