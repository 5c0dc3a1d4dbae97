// Console answer shapes: other answers that the OpenAPI file allows, made from the fixtures.
//   A1. "sparse": every value that may be null is null.
//   A2. "partial": every list, count and body continues: nothing was read to its end.
//   A3. "masked": every text that a mask may hide is hidden.

export type AnswerShape = "full" | "sparse" | "partial" | "masked";

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

/** What masks hide of records, messages and dead letters (A3). */
const MASKED_FIELDS = /^(message|stack|payload|body|businessKey|groupId)$/;
const MASKED_SCHEMAS = /^(DeadLetter|DeadLetterGroup|Failure|Record|RecordDetail|Message)$/;

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
    const isMasked = shape === "masked" && MASKED_SCHEMAS.test(nameOf(inner) || nameOf(given));
    const entries = Object.entries(value).map(([key, item]) => {
      if (isMasked && item !== null && MASKED_FIELDS.test(key)) return [key, "***"]; // A3
      const next = shape === "partial" && key in properties ? PARTIAL[key] : undefined;
      return [key, next ?? shaped(item, properties[key] ?? {})];
    });
    return Object.fromEntries(entries);
  };
  return shape === "full" ? body : shaped(body, { $ref: `#/components/schemas/${name}` });
}

/** The last part of a reference; empty without one. */
function nameOf({ $ref = "" }: Schema): string {
  return $ref.split("/").at(-1) ?? "";
}

function isNull({ type }: Schema): boolean {
  return type === "null";
}
