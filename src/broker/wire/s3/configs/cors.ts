// CORS: which pages of other sites may use a bucket, and the headers that tell their browsers.
//   O1. The first rule that matches origin, method and requested headers decides.
//   O2. A page whose origin no rule allows gets nothing: the host guard refuses its requests before
//       they have an effect, and a preflight is answered 403.

import { type Result, succeed } from "../../../../core/result.ts";
import type { HttpHead, HttpReply } from "../../../../ports/http/http.ts";
import type { S3Fault, S3Refusal } from "../../../model/s3/s3-fault.ts";
import { malformedXml } from "../request-body.ts";
import { ask, type S3Call } from "../s3-call.ts";
import { denied, refusal } from "../s3-errors.ts";
import { childrenOf, childText, parseXml, type XmlNode } from "../xml-input.ts";
import { emptyReply } from "../xml-output.ts";
import { writeChildren } from "./bucket-config.ts";

const RULES_MAX = 100;
const METHODS = new Set(["GET", "PUT", "HEAD", "POST", "DELETE"]);

interface CorsRule {
  readonly origins: readonly string[];
  readonly methods: readonly string[];
  readonly headers: readonly string[];
  readonly exposed: readonly string[];
  readonly maxAge: string | null;
}

/** The checked content of a `<CORSConfiguration>`. */
export function readCors(root: XmlNode): Result<string, S3Fault> {
  const rules = childrenOf(root, "CORSRule");
  if (rules.length === 0 || rules.length > RULES_MAX) return malformedXml();
  for (const rule of rules) {
    const fault = checkRule(ruleOf(rule));
    if (fault !== null) return fault;
  }
  return succeed(writeChildren(root));
}

function checkRule(rule: CorsRule): S3Refusal | null {
  if (rule.origins.length === 0 || rule.methods.length === 0) return malformedXml();
  const method = rule.methods.find((each) => !METHODS.has(each));
  if (method !== undefined) {
    const message = `Found unsupported HTTP method in CORS config. Unsupported method is ${method}`;
    return refusal("InvalidRequest", message);
  }
  const wild = (name: string, values: readonly string[]) => {
    const value = values.find((each) => each.split("*").length > 2);
    if (value === undefined) return null;
    const message = `${name} "${value}" can not have more than one wildcard.`;
    return refusal("InvalidRequest", message);
  };
  if (rule.maxAge !== null && !/^\d+$/.test(rule.maxAge)) return malformedXml();
  return wild("AllowedOrigin", rule.origins) ?? wild("AllowedHeader", rule.headers);
}

function ruleOf(node: XmlNode): CorsRule {
  const texts = (name: string) => childrenOf(node, name).map(({ text }) => text);
  return {
    origins: texts("AllowedOrigin"),
    methods: texts("AllowedMethod"),
    headers: texts("AllowedHeader"),
    exposed: texts("ExposeHeader"),
    maxAge: childText(node, "MaxAgeSeconds"),
  };
}

/** The answer to a preflight: OPTIONS with an Origin (O2). */
export async function answerPreflight(call: S3Call): Promise<HttpReply> {
  const { origin, "access-control-request-method": method } = call.request.headers;
  if (origin === undefined || method === undefined) {
    const message =
      "Insufficient information. Origin request header and Access-Control-Request-Method needed.";
    return denied(call, refusal("BadRequest", message).fault);
  }
  const rules = await rulesOf(call);
  if (rules === null) {
    const message = "CORSResponse: CORS is not enabled for this bucket.";
    return denied(call, refusal("AccessForbidden", message, { Method: method }).fault);
  }
  const headers = allowedHeaders(rules, call.request);
  if (headers !== null) return emptyReply(200, headers);
  const message = "CORSResponse: This CORS request is not allowed.";
  return denied(call, refusal("AccessForbidden", message, { Method: method }).fault);
}

/** The headers for the browser of a page that a rule allows; null if none does (O1). */
export async function corsHeaders(call: S3Call): Promise<readonly string[] | null> {
  const rules = await rulesOf(call);
  return rules === null ? null : allowedHeaders(rules, call.request);
}

/** The rules of the bucket; null if it has none. */
async function rulesOf(call: S3Call): Promise<readonly CorsRule[] | null> {
  if (call.bucket === "") return null;
  const lookup = await ask(call, "findBucket", { bucket: call.bucket });
  const document = lookup.ok ? lookup.value.bucket.configs?.cors : null;
  if (document === undefined || document === null) return null;
  const root = parseXml(`<CORS>${document}</CORS>`, "CORS");
  return root === null ? null : childrenOf(root, "CORSRule").map(ruleOf);
}

function allowedHeaders(
  rules: readonly CorsRule[],
  { method, headers }: Pick<HttpHead, "method" | "headers">,
): readonly string[] | null {
  const { origin = "" } = headers;
  const asked = (headers["access-control-request-headers"] ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "");
  const used = method === "OPTIONS" ? (headers["access-control-request-method"] ?? "") : method;
  const rule = rules.find(
    (each) =>
      each.origins.some((pattern) => matches(pattern, origin)) &&
      each.methods.includes(used) &&
      asked.every((name) => each.headers.some((pattern) => matches(pattern.toLowerCase(), name))),
  );
  if (rule === undefined) return null;
  const any = rule.origins.includes("*");
  const reply = ["Access-Control-Allow-Origin", any ? "*" : origin];
  if (!any) reply.push("Access-Control-Allow-Credentials", "true");
  reply.push("Access-Control-Allow-Methods", rule.methods.join(", "));
  if (asked.length > 0) reply.push("Access-Control-Allow-Headers", asked.join(", "));
  if (rule.exposed.length > 0) {
    reply.push("Access-Control-Expose-Headers", rule.exposed.join(", "));
  }
  if (rule.maxAge !== null) reply.push("Access-Control-Max-Age", rule.maxAge);
  reply.push("Vary", "Origin, Access-Control-Request-Headers, Access-Control-Request-Method");
  return reply;
}

/** Whether the text matches a pattern with at most one `*`. */
function matches(pattern: string, text: string): boolean {
  const star = pattern.indexOf("*");
  if (star === -1) return pattern === text;
  const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)];
  const long = text.length >= before.length + after.length;
  return long && text.startsWith(before) && text.endsWith(after);
}
