// Terraform policy: the data source aws_iam_policy_document as the JSON that it stands for.

import { UNKNOWN } from "../unknown.ts";
import type { HclBody } from "./hcl-syntax.ts";
import { EncodedJson, type TerraformValue } from "./terraform-values.ts";

/** The part of a scope that is needed here. */
interface Evaluator {
  attribute(body: HclBody, name: string): TerraformValue;
  nested(body: HclBody, type: string): readonly HclBody[];
}

export function policyDocumentOf(scope: Evaluator, body: HclBody): TerraformValue {
  const inherited = ["source_policy_documents", "override_policy_documents", "source_json"];
  if (inherited.some((name) => scope.attribute(body, name) !== undefined)) return UNKNOWN;
  const Statement = scope.nested(body, "statement").map((each) => statementOf(scope, each));
  return new EncodedJson({ Version: "2012-10-17", Statement });
}

function statementOf(scope: Evaluator, body: HclBody): TerraformValue {
  return {
    Effect: scope.attribute(body, "effect") ?? "Allow",
    ...listOf(scope, body, "actions", "Action"),
    ...listOf(scope, body, "not_actions", "NotAction"),
    ...listOf(scope, body, "resources", "Resource"),
    ...listOf(scope, body, "not_resources", "NotResource"),
    ...principalsOf(scope, body, "principals", "Principal"),
    ...principalsOf(scope, body, "not_principals", "NotPrincipal"),
    Condition: conditionOf(scope, body),
  };
}

function listOf(scope: Evaluator, body: HclBody, argument: string, field: string) {
  const value = scope.attribute(body, argument);
  return value === undefined ? {} : { [field]: value };
}

function principalsOf(scope: Evaluator, body: HclBody, type: string, field: string) {
  const blocks = scope.nested(body, type);
  if (blocks.length === 0) return {};
  const principals: Record<string, TerraformValue[]> = {};
  for (const each of blocks) {
    const kind = String(scope.attribute(each, "type") ?? "*");
    const identifiers = scope.attribute(each, "identifiers") ?? UNKNOWN;
    principals[kind] = [...(principals[kind] ?? []), identifiers].flat();
  }
  return { [field]: principals };
}

function conditionOf(scope: Evaluator, body: HclBody): TerraformValue {
  const conditions: Record<string, Record<string, TerraformValue>> = {};
  for (const each of scope.nested(body, "condition")) {
    const test = String(scope.attribute(each, "test") ?? "");
    const key = String(scope.attribute(each, "variable") ?? "");
    conditions[test] = { ...conditions[test], [key]: scope.attribute(each, "values") ?? UNKNOWN };
  }
  return conditions;
}
