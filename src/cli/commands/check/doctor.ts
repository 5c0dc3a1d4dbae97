// tidegate doctor: finds settings and code that lose messages, apply them twice or hide failures.

import { existsSync } from "node:fs";
import { packageVersion } from "../../../platform/package-version.ts";
import { SETTINGS } from "../../../run/config.ts";
import {
  command,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_UNREAD,
  text,
  toggle,
  UsageError,
} from "../../command.ts";
import { ledgerLocation, serverLocation } from "../../flags/location-flags.ts";

const PIPELINE_DEFAULT = "pipeline.ts";

export const doctor = command({
  name: "doctor",
  summary: "Find settings and code that lose messages, apply them twice or hide failures.",
  argument: {
    name: "FILE",
    doc: `Pipeline file (default: ${PIPELINE_DEFAULT}, if it exists).`,
    optional: true,
  },
  flags: {
    queue: text("QUEUE[,QUEUE]", null, "Live queues to check: names, URLs or ARNs."),
    terraform: text("FOLDER", null, "Folder of Terraform files to check."),
    code: text("FOLDER", null, "Folder whose code is checked (default: that of FILE)."),
    endpoint: {
      ...text(
        "URL",
        null,
        "SQS, SNS and S3 endpoint (default: AWS_ENDPOINT_URL, else the cloud running on --data, else AWS).",
      ),
      env: SETTINGS.endpoint.env,
    },
    region: serverLocation.region,
    data: ledgerLocation.data,
    checklist: toggle("Print a checklist of a safe pipeline, ticked, with evidence."),
    json: toggle("Print the findings as JSON."),
    sarif: toggle("Print the findings as SARIF 2.1.0, for code scanning."),
    strict: toggle("Exit with 5 if something could not be read."),
    "list-rules": toggle("Print all rules and exit."),
  },
  async run({ argument, flags, out }) {
    const report = await import("../../../operate/doctor/report.ts");
    const { RULES } = report;
    if (flags["list-rules"]) {
      for (const line of report.ruleList(RULES)) out.line(line);
      return EXIT_OK;
    }
    if (flags.json && flags.sarif) throw new UsageError("use --json or --sarif, not both");
    const { examine } = await import("../../../operate/doctor.ts");
    const { terraform, code, endpoint, region, data } = flags;
    const named = [flags.queue, terraform, code].some((flag) => flag !== undefined);
    const fallback = !named && existsSync(PIPELINE_DEFAULT) ? PIPELINE_DEFAULT : undefined;
    const examination = await examine({
      file: argument ?? fallback,
      queues: flags.queue?.split(",").filter((name) => name !== ""),
      terraform,
      code,
      endpoint,
      region,
      data,
    });
    const { findings, unread } = examination;
    for (const { text: what } of unread) out.note(`warning: not read: ${what}`);
    if (flags.json || flags.sarif) {
      const document = flags.json
        ? report.diagnosisJson(examination)
        : report.diagnosisSarif(examination, RULES, packageVersion());
      out.line(JSON.stringify(document));
    } else if (flags.checklist)
      for (const line of report.checklistText(examination)) out.line(line);
    else for (const line of report.diagnosisText(examination)) out.line(line);
    const failed = findings.some(({ rule }) => rule.severity === "error");
    if (failed) return EXIT_FAILED;
    return flags.strict && unread.length > 0 ? EXIT_UNREAD : EXIT_OK;
  },
});
