// Check identity policy: why a policy of a user or role cannot be evaluated, or null. A policy that
// parses but says nothing would grant nothing without a word.

import { isObject } from "../is-object.ts";
import { isOperator } from "./conditions.ts";

const FIELDS = ["Version", "Id", "Statement"];
const STATEMENT = ["Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Condition"];

export function checkIdentityPolicy(policy: unknown): string | null {
  if (!isObject(policy)) return "the policy is not an object";
  const unknown = Object.keys(policy).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) return `unknown field "${unknown}"; expected ${FIELDS.join(", ")}`;
  const { Version, Statement } = policy;
  if (Version !== undefined && Version !== "2012-10-17" && Version !== "2008-10-17") {
    return `Version ${JSON.stringify(Version)} is neither "2012-10-17" nor "2008-10-17"`;
  }
  const statements = Array.isArray(Statement) ? Statement : [Statement];
  if (Statement === undefined || statements.length === 0) return "the Statement is missing";
  for (const [index, statement] of statements.entries()) {
    const reason = checkStatement(statement);
    if (reason !== null) return `Statement[${index}]: ${reason}`;
  }
  return null;
}

function checkStatement(statement: unknown): string | null {
  if (!isObject(statement)) return "not an object";
  if ("Principal" in statement || "NotPrincipal" in statement) {
    return "a policy of a user or role has no Principal";
  }
  const unknown = Object.keys(statement).find((name) => !STATEMENT.includes(name));
  if (unknown !== undefined) return `unknown field "${unknown}"`;
  if (statement.Effect !== "Allow" && statement.Effect !== "Deny") {
    return 'Effect must be "Allow" or "Deny"';
  }
  for (const field of ["Action", "Resource"]) {
    const values = [statement[field], statement[`Not${field}`]].filter(
      (each) => each !== undefined,
    );
    if (values.length !== 1) return `expected one of ${field} and Not${field}`;
    if (!isTexts(values[0])) return `${field} must be a text or a list of texts`;
  }
  return checkConditions(statement.Condition);
}

function isTexts(value: unknown): boolean {
  const list = Array.isArray(value) ? value : [value];
  return list.length > 0 && list.every((each) => typeof each === "string" && each !== "");
}

function checkConditions(conditions: unknown): string | null {
  if (conditions === undefined) return null;
  if (!isObject(conditions)) return "Condition is not an object";
  for (const [name, keys] of Object.entries(conditions)) {
    if (!isOperator(name)) return `unknown condition operator "${name}"`;
    if (!isObject(keys)) return `the condition "${name}" is not an object`;
  }
  return null;
}
