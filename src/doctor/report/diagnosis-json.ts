// Diagnosis JSON: findings for programs: plain JSON, and SARIF 2.1.0 for code scanning.

import type { Rule } from "../rule.ts";
import type { Location } from "../setup.ts";
import type { Diagnosis } from "./diagnosis-text.ts";

const SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json";
const INFORMATION = "https://www.npmjs.com/package/tidegate";

export function diagnosisJson({ findings, checked, unread }: Diagnosis) {
  return {
    checked,
    unread: unread.map(({ reason, text, count = 1 }) => ({ reason, text, count })),
    findings: findings.map(({ rule, location, message }) => ({
      rule: rule.id,
      name: rule.name,
      severity: rule.severity,
      risk: rule.risk,
      location,
      message,
      fix: rule.fix,
    })),
  };
}

/** A SARIF log with one run; what was not read is a notification of the run. */
export function diagnosisSarif(
  { findings, unread }: Pick<Diagnosis, "findings" | "unread">,
  rules: readonly Rule[],
  version: string,
) {
  return {
    $schema: SCHEMA,
    version: "2.1.0" as const,
    runs: [
      {
        tool: {
          driver: {
            name: "tidegate doctor",
            version,
            informationUri: INFORMATION,
            rules: rules.map(sarifRule),
          },
        },
        invocations: [
          {
            executionSuccessful: true,
            toolExecutionNotifications: unread.map(({ text }) => ({
              level: "warning" as const,
              message: { text: `not read: ${text}` },
            })),
          },
        ],
        columnKind: "utf16CodeUnits" as const,
        results: findings.map(({ rule, location, message }) => ({
          ruleId: rule.id,
          ruleIndex: rules.indexOf(rule),
          level: rule.severity,
          message: { text: message },
          locations: [sarifLocation(location)],
        })),
      },
    ],
  };
}

function sarifRule({ id, name, title, severity, risk, consequence, fix }: Rule) {
  return {
    id,
    name,
    shortDescription: { text: title },
    fullDescription: { text: consequence },
    help: { text: `${consequence} ${fix}` },
    defaultConfiguration: { level: severity },
    properties: { risk, tags: [risk] },
  };
}

function sarifLocation({ name, file, line }: Location) {
  const logicalLocations = [{ name, kind: "resource" }];
  if (file === undefined) return { logicalLocations };
  const uri = file.split("/").map(encodeURIComponent).join("/");
  return {
    logicalLocations,
    physicalLocation: {
      artifactLocation: { uri },
      ...(line !== undefined && { region: { startLine: line } }),
    },
  };
}
