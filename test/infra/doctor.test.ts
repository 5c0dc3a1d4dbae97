// The doctor on the Terraform that `tidegate infra` writes.

import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import type { Finding } from "../../src/doctor/rule.ts";
import { diagnose } from "../../src/doctor/rules/all-rules.ts";
import { loadTerraform } from "../../src/doctor/terraform/load-terraform.ts";
import { terraformSetup } from "../../src/doctor/terraform/terraform-setup.ts";
import { type InfraOptions, planInfra } from "../../src/infra/infra-plan.ts";
import { pipeline } from "../../src/ingest/spec/define-pipeline.ts";
import { observedPipelineOf } from "../../src/operate/doctor/observed-pipeline.ts";
import { infraFiles } from "../../src/operate/infra/infra-files.ts";
import { pipelineFacts } from "../../src/operate/infra/pipeline-facts.ts";
import { changed } from "../support/doctor/corpus-case.ts";

const BUCKET = pipeline({
  name: "orders",
  source: { bucket: "shop-in", prefix: "in/" },
  handler: () => {},
});
const MESSAGES = pipeline({ name: "jobs", source: { queue: "jobs" }, handler: () => {} });
const FIFO = pipeline({ name: "jobs", source: { queue: "jobs.fifo" }, handler: () => {} });
const PIPELINES = { "a bucket": BUCKET, messages: MESSAGES, "a FIFO queue": FIFO };

type Files = ReadonlyMap<string, string>;

function examine(files: Files, spec: typeof BUCKET | null) {
  const source = {
    filesIn(folder: string) {
      const inside = [...files].filter(([path]) => {
        return posix.dirname(path) === folder && path.endsWith(".tf");
      });
      return inside.length === 0 ? null : inside.map(([file, text]) => ({ file, text }));
    },
    resolve: (folder: string, path: string) => posix.join(folder, path),
  };
  const { scopes, unread } = loadTerraform(".", source);
  expect(unread).toEqual([]);
  const own = spec === null ? null : observedPipelineOf(spec, "pipeline.ts");
  const setup = { ...terraformSetup(scopes), pipeline: own };
  return { setup, findings: diagnose(setup) };
}

const texts = (findings: readonly Finding[]) =>
  findings.map(({ rule, message }) => `${rule.name}: ${message}`);

const VARIANTS: readonly InfraOptions[] = [
  {},
  { kms: true },
  { ledger: "postgres" },
  { dispatch: true, listing: true },
  { via: "queue" },
  { compute: "lambda" },
  { compute: "ecs" },
];

describe.each(Object.entries(PIPELINES))("the Terraform of a pipeline of %s", (_, spec) => {
  test.each(VARIANTS)("has no findings with %j", (options) => {
    const files = infraFiles(planInfra(pipelineFacts(spec), options));
    const { setup, findings } = examine(files, spec);
    expect(texts(findings)).toEqual([]);
    expect(texts(examine(files, null).findings)).toEqual([]); // Without the pipeline file, too.
    expect(setup.queues).toHaveLength(2);
    expect(setup.alarms?.length).toBeGreaterThan(5);
    expect(setup.grants.length).toBeGreaterThan(0);
  });
});

type Change = readonly [rule: string, path: string, from: string, to: string];

const SENDING = `Principal = { Service = service }
          Action    = "sqs:SendMessage"
          Resource  = aws_sqs_queue.this.arn`;

/** Each change has to be noticed: a part without findings must not be a part that is not read. */
const CHANGES: readonly Change[] = [
  [
    "dead-letters-retention",
    "main.tf",
    "  max_receive_count ",
    "  retention_seconds = 1209600\n  max_receive_count ",
  ],
  ["receives-below-attempts", "main.tf", "= 25", "= 5"],
  [
    "sender-not-allowed",
    "modules/queue/main.tf",
    SENDING,
    SENDING.replace("SendMessage", "GetQueueUrl"),
  ],
  [
    "dead-letter-alarm-missing",
    "main.tf",
    '  dead_letter_queue_name = "orders-dead-letters"\n  topic_name',
    '  dead_letter_queue_name = "other"\n  topic_name',
  ],
  [
    "backlog-alarm-missing",
    "main.tf",
    '  queue_name             = "orders-events"',
    '  queue_name             = "other"',
  ],
  [
    "bucket-unversioned",
    "modules/bucket/main.tf",
    'versioning_configuration {\n    status = "Enabled"',
    'versioning_configuration {\n    status = "Suspended"',
  ],
  [
    "get-object-too-wide",
    "main.tf",
    '  prefix                = "in/"',
    '  prefix                = ""',
  ],
  [
    "subscription-without-dead-letters",
    "modules/topic/main.tf",
    "  redrive_policy       = jsonencode(",
    "  other                = jsonencode(",
  ],
];

test.each(CHANGES)("%s is found after a change of %s", (rule, path, from, to) => {
  const files = new Map(infraFiles(planInfra(pipelineFacts(BUCKET), {})));
  files.set(path, changed(files.get(path) ?? "", [from, to]));
  const { findings } = examine(files, BUCKET);
  expect(findings.map((finding) => finding.rule.name)).toContain(rule);
});
