// Console answer shapes: other answers that the OpenAPI file allows, made from the fixtures.
//   A1. "sparse": every value that may be null is null.
//   A2. "partial": every list, count and body continues: nothing was read to its end.

export type AnswerShape = "full" | "sparse" | "partial";

type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
};

interface ApiDocument {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** What an answer has, by field, if it was not read to its end (A2). */
const PARTIAL: Readonly<Record<string, unknown>> = {
  more: true,
  deadLettersMore: true,
  recordsMore: true,
  truncated: true,
  complete: false,
  next: "next-page",
};

export function shapedAnswer(
  document: ApiDocument,
  name: string,
  body: unknown,
  shape: AnswerShape,
): unknown {
  const resolve = (schema: Schema): Schema => {
    const [, ref] = /^#\/components\/schemas\/(.+)$/.exec(schema.$ref ?? "") ?? [];
    return ref === undefined ? schema : (document.components.schemas[ref] ?? schema);
  };
  const shaped = (value: unknown, given: Schema): unknown => {
    const schema = resolve(given);
    const types = [schema.type ?? []].flat();
    const isNullable = types.includes("null") || schema.anyOf?.some((each) => isNull(each));
    if (shape === "sparse" && isNullable) return null; // A1
    if (value === null || typeof value !== "object") return value;
    const inner = schema.anyOf?.find((each) => !isNull(each)) ?? schema;
    const { items = {}, properties = {} } = resolve(inner);
    if (Array.isArray(value)) return value.map((item) => shaped(item, items));
    const entries = Object.entries(value).map(([key, item]) => {
      const next = shape === "partial" && key in properties ? PARTIAL[key] : undefined;
      return [key, next ?? shaped(item, properties[key] ?? {})];
    });
    return Object.fromEntries(entries);
  };
  return shape === "full" ? body : shaped(body, { $ref: `#/components/schemas/${name}` });
}

function isNull({ type }: Schema): boolean {
  return type === "null";
}
