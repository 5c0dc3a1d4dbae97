// Plans: pipelines whose infrastructure the tests generate. Together they call every module.

import {
  type InfraOptions,
  type InfraPlan,
  type PipelineFacts,
  planInfra,
} from "../../../src/infra/infra-plan.ts";

const FACTS: PipelineFacts = {
  name: "orders",
  bucket: "acme-orders",
  prefix: "in/",
  queue: null,
  visibilityMs: 60_000,
  maxReceiveCount: { standard: 25, fifo: 1_000 },
};
const MESSAGES: PipelineFacts = {
  ...FACTS,
  name: "bookings",
  bucket: null,
  prefix: "",
  queue: "bookings",
};

const plan = (facts: Partial<PipelineFacts>, options?: InfraOptions) =>
  planInfra({ ...FACTS, ...facts }, options);

export const INFRA_PLANS: Readonly<Record<string, InfraPlan>> = {
  "a bucket through a topic": plan({}),
  "a bucket through a topic, with backfills and a customer key, on ECS": plan(
    {},
    { kms: true, compute: "ecs", backfill: true, outputs: ["s3://acme-outputs/manifests/"] },
  ),
  "a dispatcher with a late queue and lists": plan(
    {
      ...MESSAGES,
      name: "days",
      queue: "days",
      lateQueue: "days-late",
      archive: { bucket: "acme-archive", prefix: "messages/days/" },
    },
    { listing: true, dispatch: true },
  ),
  "a bucket to a queue, with PostgreSQL": plan({}, { via: "queue", ledger: "postgres" }),
  "messages through a queue, with claim checks": plan(MESSAGES, { claimChecks: "acme-claims" }),
  "messages through a FIFO topic, with a customer key, on Lambda": plan(
    { ...MESSAGES, name: "trips", queue: "trips.fifo" },
    { via: "topic", kms: true, compute: "lambda", claimChecks: "acme-claims" },
  ),
};

/** Values for the variables of every root; a root ignores those it does not declare. */
export const ROOT_VARIABLES = {
  region: "us-east-1",
  image: "example.com/consumer@sha256:0000",
  cluster_arn: "arn:aws:ecs:us-east-1:000000000000:cluster/c",
  subnet_ids: ["subnet-1"],
  security_group_ids: ["sg-1"],
  function_name: "orders",
  task_family: "download",
  task_role_arns: ["arn:aws:iam::000000000000:role/task"],
  task_results_arn: "arn:aws:s3:::acme-results/days",
  secrets: { API_TOKEN: "arn:aws:secretsmanager:us-east-1:000000000000:secret:token-AbCdEf:key::" },
};
