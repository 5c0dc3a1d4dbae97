// Mutations: ways to damage a valid request, from one wrong field to random bytes.
//   F1. Everything is drawn from the given random stream, so a seed determines the request.

import type { Random } from "../../src/ports/random.ts";
import {
  createFields,
  type Draft,
  type Json,
  jsonDraft,
  pick,
  queryDraft,
  queryPairs,
  type Subjects,
} from "./sqs-requests.ts";

const DEPTH_MAX = 20_000;

/** Values that often break parsers and checks. */
const NASTY: readonly Json[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  1.5,
  1e21,
  -1e308,
  2 ** 31,
  2 ** 53 + 2,
  "",
  " ",
  "0",
  "-1",
  "1e3",
  "NaN",
  "99999999999999999999999999",
  "\u0000",
  "\u0001\u0008",
  "\ud800",
  "\udfff\ud800",
  "\uffff",
  "\ufeff",
  "\u202e\u0301",
  "😀".repeat(100),
  "a".repeat(5_000),
  "]]>&<&amp;",
  "../../etc",
  "%00%zz",
  "__proto__",
  "constructor",
  "toString",
  [],
  {},
  [[]],
  [null],
  { a: { b: { c: {} } } },
  ["All", "All", ".*", 7],
  { __proto__: null, toString: 1 } as unknown as Json,
];

/** A copy of the value with one change in it. */
function mutateValue(random: Random, value: Json): Json {
  const isBranch = typeof value === "object" && value !== null;
  if (!isBranch || random.below(4) === 0) return mutateLeaf(random, value);
  if (Array.isArray(value)) return mutateList(random, value);
  const entries = Object.entries(value);
  if (entries.length === 0) return { [pick(random, ["x", "QueueUrl", "Id"])]: 1 };
  const at = random.below(entries.length);
  const [key, inner] = entries[at] as [string, Json];
  switch (random.below(7)) {
    case 0:
      return Object.fromEntries(entries.filter((_, index) => index !== at));
    case 1:
      return { ...value, [mutateText(random, key)]: inner };
    case 2:
      return { ...value, [`extra${random.below(10)}`]: pick(random, NASTY) };
    case 3:
      return { ...value, [key]: pick(random, NASTY) };
    default:
      return { ...value, [key]: mutateValue(random, inner) };
  }
}

function mutateList(random: Random, value: Json[]): Json {
  if (value.length === 0) return [pick(random, NASTY)];
  const at = random.below(value.length);
  const each = value[at] as Json;
  switch (random.below(5)) {
    case 0:
      return value.toSpliced(at, 1);
    case 1:
      return [...value, each];
    case 2:
      return Array.from({ length: 12 }, () => each);
    default:
      return value.toSpliced(at, 1, mutateValue(random, each));
  }
}

function mutateLeaf(random: Random, value: Json): Json {
  switch (random.below(5)) {
    case 0:
      return [value];
    case 1:
      return { value };
    case 2:
      return typeof value === "number" ? String(value) : pick(random, NASTY);
    case 3:
      return typeof value === "string" ? mutateText(random, value) : pick(random, NASTY);
    default:
      return pick(random, NASTY);
  }
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function mutateText(random: Random, text: string): string {
  const at = random.below(text.length + 1);
  const nasty = pick(random, NASTY);
  switch (random.below(4)) {
    case 0:
      return text.slice(0, at) + text.slice(at + 1);
    case 1:
      return text.slice(0, at) + String.fromCodePoint(random.below(0x800)) + text.slice(at);
    case 2:
      return text.slice(0, at) + (typeof nasty === "string" ? nasty : "x") + text.slice(at);
    default:
      return random.below(2) === 0 ? text.toUpperCase() : text + text;
  }
}

/** Damages bytes: flips, drops, repeats and inserts them, or truncates the end. */
export function mutateBytes(random: Random, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const length = random.below(8);
  switch (random.below(6)) {
    case 0:
      return bytes.subarray(0, at);
    case 1: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = (copy[at] as number) ^ (1 << random.below(8));
      return copy;
    }
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    case 3:
      return Buffer.concat([bytes.subarray(0, at), random.bytes(length), bytes.subarray(at)]);
    case 4:
      return Buffer.concat([bytes, bytes.subarray(at)]);
    default:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]);
  }
}

/** Text that is JSON, or nearly, but unlike any real request. */
function strangeJson(random: Random, text: string): string {
  const depth = 1 + random.below(DEPTH_MAX);
  switch (random.below(8)) {
    case 0:
      return "[".repeat(depth);
    case 1:
      return `{"QueueUrl":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    case 2:
      return `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    case 3:
      return text.replace("{", '{"QueueUrl":"http://x/y","QueueUrl":7,"QueueUrl":"target",');
    case 4:
      return text.replace("{", '{"__proto__":{"QueueUrl":"target"},"constructor":null,');
    case 5:
      return text.replace(/\d+/, pick(random, ["1e400", "-1e400", "0x10", "01", "1.", "NaN"]));
    case 6:
      return pick(random, ["", "null", "[]", "7", '"text"', "{", "{}{}", "undefined", "\u0000"]);
    default:
      return `${text}${" ".repeat(random.below(50))}${pick(random, [",", "}", "//", "\n\n", ""])}`;
  }
}

const HEADER_VALUES = [
  "",
  "text/plain",
  "application/json",
  "application/x-amz-json-1.0",
  "application/x-amz-json-1.1; charset=utf-16",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=",
  "AmazonSQS.",
  "AmazonSQS.sendMessage",
  "AmazonSQS.__proto__",
  "AmazonSQS.constructor",
  "AmazonSNS.Publish",
  ".",
  "*/*",
  "a".repeat(2_000),
  "[::1]:99999",
  "<script>&\"'",
];
const HEADER_NAMES = [
  "accept",
  "authorization",
  "content-encoding",
  "content-type",
  "host",
  "x-amz-date",
  "x-amz-target",
  "x-amzn-query-mode",
  "x-amzn-trace-id",
];
const PATHS = [
  "/",
  "//",
  "/000000000000/target",
  "/000000000000/target.fifo",
  "/000000000000/absent",
  "/123/target/extra",
  "/%zz",
  "/%00",
  "/\u00ff",
  "/_tidegate",
  "/_tidegate/queues/%2e%2e/messages",
  "/queue/target",
];

/** Changes the method, path, query string or headers of a request. */
export function mutateFrame(random: Random, draft: Draft): Draft {
  const name = pick(random, HEADER_NAMES);
  switch (random.below(5)) {
    case 0:
      return { ...draft, method: pick(random, ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "X"]) };
    case 1:
      return { ...draft, path: pick(random, PATHS) };
    case 2:
      return { ...draft, method: "GET", query: draft.body.toString("latin1").slice(0, 4_000) };
    case 3: {
      const { [name]: _gone, ...headers } = draft.headers;
      return { ...draft, headers };
    }
    default:
      return { ...draft, headers: { ...draft.headers, [name]: pick(random, HEADER_VALUES) } };
  }
}

function mutateQuery(random: Random, action: string, fields: Json): Draft {
  let pairs = queryPairs(action, fields);
  const at = random.below(pairs.length);
  const [key, value] = pairs[at] as [string, string];
  switch (random.below(7)) {
    case 0:
      pairs = pairs.toSpliced(at, 1);
      break;
    case 1:
      pairs = [...pairs, [key, value]];
      break;
    case 2:
      pairs = pairs.toSpliced(at, 1, [mutateText(random, key), value]);
      break;
    case 3:
      pairs = pairs.toSpliced(at, 1, [key, textOf(pick(random, NASTY))]);
      break;
    case 4:
      pairs = pairs.toSpliced(at, 1, [key.replace(/\d+/, "99999999999"), value]);
      break;
    case 5:
      pairs = queryPairs(action, mutateValue(random, fields));
      break;
    default:
      pairs = pairs.toSpliced(at, 1, [key, mutateText(random, value)]);
  }
  return queryDraft(action, pairs);
}

/** One mutated request; sometimes a valid one. */
export function createMutant(random: Random, action: string, subjects: Subjects): Draft {
  const fields = createFields(random, action, subjects);
  const json = random.below(2) === 0;
  const text = JSON.stringify(fields);
  const valid = json ? jsonDraft(action, text) : queryDraft(action, queryPairs(action, fields));
  switch (random.below(10)) {
    case 0:
      return valid;
    case 1:
    case 2:
      return { ...valid, body: mutateBytes(random, valid.body) };
    case 3:
      return mutateFrame(random, valid);
    case 4:
      return json
        ? jsonDraft(action, strangeJson(random, text))
        : mutateFrame(random, mutateQuery(random, action, fields));
    default:
      return json
        ? jsonDraft(action, JSON.stringify(mutateValue(random, fields)))
        : mutateQuery(random, action, fields);
  }
}
