// Terraform corpus: bad configurations, each a good one with one mistake, and good ones that look
// alike.

import { type CorpusCase, changed } from "./corpus-case.ts";
import { FIFO_TF, STANDARD_TF } from "./terraform-bases.ts";

type Changes = readonly (readonly [string, string])[];

const bad = (rule: string, title: string, base: string, ...changes: Changes): CorpusCase => ({
  rule,
  title,
  breaks: [rule],
  files: { "main.tf": changed(base, ...changes) },
});
const good = (rule: string, title: string, base: string, ...changes: Changes): CorpusCase => ({
  rule,
  title,
  breaks: [],
  files: { "main.tf": changed(base, ...changes) },
});
const also = (each: CorpusCase, ...more: readonly string[]): CorpusCase => ({
  ...each,
  breaks: [...each.breaks, ...more],
});

const REDRIVE = `  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead.arn
    maxReceiveCount     = 25
  })`;
const TLS = '{ Bool = { "aws:SecureTransport" = "false" } }';
const SOURCE = `    condition {
      test     = "ArnEquals"
      variable = "aws:SourceArn"
      values   = [aws_sns_topic.objects.arn]
    }`;
const KEY_ACTIONS = '["kms:GenerateDataKey*", "kms:Decrypt"]';
const LIST_BUCKET =
  '      { Effect = "Allow", Action = "s3:ListBucket", Resource = aws_s3_bucket.in.arn },\n';

const PIPE_TARGET = "  target = aws_sqs_queue.dead.arn\n";
const STATE_MACHINE = (type: string) => `  target = aws_sfn_state_machine.flow.arn
  target_parameters {
    step_function_state_machine_parameters { invocation_type = "${type}" }
  }
`;
const DASHBOARD = 'resource "aws_cloudwatch_dashboard" "queues" {';
const UNSENT = `resource "aws_sqs_queue" "unsent" {}
${DASHBOARD}`;
const CPU = `predefined_metric_specification {
      predefined_metric_type = "ECSServiceAverageCPUUtilization"
    }`;
const BACKLOG = `customized_metric_specification { namespace = "own" }`;
const SCALING = (metric: string) => `resource "aws_appautoscaling_policy" "tasks" {
  service_namespace = "ecs"
  target_tracking_scaling_policy_configuration {
    ${metric}
  }
}
${DASHBOARD}`;
const TASK = (image: string) => `resource "aws_ecs_task_definition" "work" {
  container_definitions = jsonencode([{ name = "work", image = "${image}" }])
}
${DASHBOARD}`;

export const TERRAFORM_CORPUS: readonly CorpusCase[] = [
  good("dead-letters-none", "bucket, topic and standard queue", STANDARD_TF),
  good("dead-letters-type", "FIFO topic, FIFO queue, customer key", FIFO_TF),
  bad("dead-letters-none", "no redrive policy", STANDARD_TF, [REDRIVE, ""]),
  bad("dead-letters-unseen", "dead-letter queue of another folder", STANDARD_TF, [
    `${REDRIVE}
}`,
    `  redrive_policy = jsonencode({
    deadLetterTargetArn = "arn:aws:sqs:eu-west-1:123456789012:elsewhere"
    maxReceiveCount     = 25
  })
}`,
  ]),
  bad("dead-letters-retention", "14 days in both queues", STANDARD_TF, [
    "4 * 24 * 3600",
    "14 * 24 * 3600",
  ]),
  good("dead-letters-retention", "10 days in the queue", STANDARD_TF, [
    "4 * 24 * 3600",
    "10 * 24 * 3600",
  ]),
  bad("dead-letters-time-left", "12 days in the queue", STANDARD_TF, [
    "4 * 24 * 3600",
    "12 * 24 * 3600",
  ]),
  bad("short-polling", "wait time 0", STANDARD_TF, [
    "receive_wait_time_seconds  = 20",
    "receive_wait_time_seconds  = 0",
  ]),
  bad("short-polling", "no wait time", STANDARD_TF, ["  receive_wait_time_seconds  = 20\n", ""]),
  good("short-polling", "wait time of a variable", STANDARD_TF, [
    "receive_wait_time_seconds  = 20",
    "receive_wait_time_seconds  = var.wait",
  ]),
  bad("retention-short", "an hour", STANDARD_TF, ["4 * 24 * 3600", "3600"]),
  bad("receives-missing", "no maxReceiveCount", STANDARD_TF, [
    "    maxReceiveCount     = 25\n",
    "",
  ]),
  good("receives-missing", "maxReceiveCount as text", STANDARD_TF, [
    "maxReceiveCount     = 25",
    'maxReceiveCount     = "25"',
  ]),
  bad("visibility-static", "an hour without heartbeat", STANDARD_TF, [
    "visibility_timeout_seconds = 60",
    "visibility_timeout_seconds = 3600",
  ]),
  good("visibility-static", "five minutes", STANDARD_TF, [
    "visibility_timeout_seconds = 60",
    "visibility_timeout_seconds = 300",
  ]),
  bad("visibility-below-function", "a function of 30 seconds", FIFO_TF, [
    "timeout       = 10",
    "timeout       = 30",
  ]),
  good("visibility-below-function", "the default timeout", FIFO_TF, ["  timeout       = 10\n", ""]),
  bad("queue-name", "a name with two suffixes", STANDARD_TF, [
    "name                       = var.name",
    'name                       = "orders.fifo.dlt"',
  ]),
  also(
    bad("queue-name", "FIFO without its suffix", FIFO_TF, [
      'name                        = "events.fifo"',
      'name                        = "events"',
    ]),
    "standard-for-order",
    "backlog-alarm-missing",
  ),
  good("queue-name", "a name of a variable", STANDARD_TF, ['default = "orders"', "type = string"]),
  bad("redrive-refused", "another source only", STANDARD_TF, [
    "sourceQueueArns   = [aws_sqs_queue.work.arn]",
    "sourceQueueArns   = [aws_sqs_queue.dead.arn]",
  ]),
  bad("redrive-refused", "denyAll", STANDARD_TF, ['"byQueue"', '"denyAll"']),
  good("redrive-refused", "allowAll", STANDARD_TF, ['"byQueue"', '"allowAll"']),
  bad("dedup-per-group", "high throughput", FIFO_TF, [
    "  content_based_deduplication = false\n",
    '  deduplication_scope = "messageGroup"\n',
  ]),
  good("dedup-per-group", "scope of the queue", FIFO_TF, [
    "  content_based_deduplication = false\n",
    '  deduplication_scope = "queue"\n',
  ]),
  bad("queue-unencrypted", "SSE-SQS off", STANDARD_TF, [
    "sqs_managed_sse_enabled    = true",
    "sqs_managed_sse_enabled    = false",
  ]),
  good("queue-unencrypted", "the default of AWS", STANDARD_TF, [
    "  sqs_managed_sse_enabled    = true\n",
    "",
  ]),
  bad("dead-letters-unencrypted", "a key for the queue only", FIFO_TF, [
    `  message_retention_seconds = 1209600
  kms_master_key_id         = aws_kms_key.queues.arn
`,
    "  message_retention_seconds = 1209600\n",
  ]),
  good("dead-letters-unencrypted", "both by alias", FIFO_TF, [
    `resource "aws_sqs_queue" "dead" {`,
    `resource "aws_kms_alias" "queues" {
  name          = "alias/queues"
  target_key_id = aws_kms_key.queues.key_id
}

resource "aws_sqs_queue" "dead" {`,
  ]),
  bad("fifo-topic-filtered", "a filter policy on a FIFO topic", FIFO_TF, [
    'protocol       = "sqs"',
    'protocol       = "sqs"\n  filter_policy  = jsonencode({ kind = ["a"] })',
  ]),
  good("fifo-topic-filtered", "a filter policy on a standard topic", STANDARD_TF, [
    'protocol             = "sqs"',
    'protocol             = "sqs"\n  filter_policy = jsonencode({ kind = ["a"] })',
  ]),
  also(
    bad("standard-for-order", "a standard queue on a FIFO topic", STANDARD_TF, [
      `resource "aws_sns_topic" "objects" { name = "\${var.name}-objects" }`,
      'resource "aws_sns_topic" "objects" {\n  name = "objects.fifo"\n  fifo_topic = true\n}',
    ]),
    "bucket-to-fifo",
  ),
  bad("standard-topic-to-fifo-queue", "a standard topic", FIFO_TF, [
    '  name       = "events.fifo"\n  fifo_topic = true\n',
    '  name       = "events"\n',
  ]),
  bad("subscription-without-dead-letters", "no redrive policy", STANDARD_TF, [
    "  redrive_policy       = jsonencode({ deadLetterTargetArn = aws_sqs_queue.dead.arn })\n",
    "",
  ]),
  bad("bucket-unversioned", "versioning suspended", STANDARD_TF, ['"Enabled"', '"Suspended"']),
  good("bucket-unversioned", "versioning of the old syntax", STANDARD_TF, [
    `resource "aws_s3_bucket" "in" { bucket = "\${var.name}-in" }`,
    'resource "aws_s3_bucket" "in" {\n  bucket = "orders-in"\n  versioning { enabled = true }\n}',
  ]),
  bad("notification-overwritten", "two configurations", STANDARD_TF, [
    'resource "aws_sns_topic" "objects"',
    `resource "aws_s3_bucket_notification" "other" {
  bucket = aws_s3_bucket.in.id
  lambda_function {
    lambda_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:f"
    events              = ["s3:ObjectRemoved:*"]
  }
}

resource "aws_sns_topic" "objects"`,
  ]),
  bad("notifications-overlap", "one prefix in another", STANDARD_TF, [
    '    filter_prefix = "in/"\n  }',
    `    filter_prefix = "in/"
  }
  lambda_function {
    lambda_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:f"
    events              = ["s3:ObjectCreated:Put"]
    filter_prefix       = "in/csv/"
  }`,
  ]),
  good("notifications-overlap", "two prefixes", STANDARD_TF, [
    '    filter_prefix = "in/"\n  }',
    `    filter_prefix = "in/"
  }
  lambda_function {
    lambda_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:f"
    events              = ["s3:ObjectCreated:*"]
    filter_prefix       = "out/"
  }`,
  ]),
  good("notification-overwritten", "two kinds in one configuration", STANDARD_TF, [
    '    filter_prefix = "in/"\n  }',
    `    filter_prefix = "in/"
  }
  lambda_function {
    lambda_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:f"
    events              = ["s3:ObjectRemoved:*"]
  }`,
  ]),
  bad("pipe-to-ecs", "a task per message", FIFO_TF, [
    "  target = aws_sqs_queue.dead.arn\n",
    `  target = aws_ecs_cluster.tasks.arn
  target_parameters {
    ecs_task_parameters { task_definition_arn = var.task }
  }
`,
  ]),
  good("pipe-to-ecs", "a pipe to a queue", FIFO_TF),
  bad("function-fails-whole-batch", "no response types", FIFO_TF, [
    '  function_response_types = ["ReportBatchItemFailures"]\n',
    "",
  ]),
  bad("aws-managed-key", "alias/aws/sqs behind SNS", FIFO_TF, [
    "  receive_wait_time_seconds   = 20\n  kms_master_key_id           = aws_kms_key.queues.arn",
    '  receive_wait_time_seconds   = 20\n  kms_master_key_id           = "alias/aws/sqs"',
  ]),
  bad("key-refuses-sender", "a key for another service", FIFO_TF, [
    `Principal = { Service = "sns.amazonaws.com" }
      Action    = ${KEY_ACTIONS}`,
    `Principal = { Service = "s3.amazonaws.com" }
      Action    = ${KEY_ACTIONS}`,
  ]),
  bad("key-refuses-sender", "a key that may decrypt only", FIFO_TF, [
    KEY_ACTIONS,
    '["kms:Decrypt"]',
  ]),
  good("key-refuses-sender", "all actions of the key", FIFO_TF, [KEY_ACTIONS, '"kms:*"']),
  bad("sender-not-allowed", "a policy for another topic", STANDARD_TF, [
    "values   = [aws_sns_topic.objects.arn]",
    "values   = [aws_sns_topic.oncall.arn]",
  ]),
  good("sender-not-allowed", "a policy that is not known", STANDARD_TF, [
    "  policy    = data.aws_iam_policy_document.work.json",
    "  policy    = var.policy",
  ]),
  bad("queue-policy-open", "any topic of AWS", STANDARD_TF, [SOURCE, ""]),
  bad("queue-policy-open", "anybody", STANDARD_TF, [
    `      type        = "Service"
      identifiers = ["sns.amazonaws.com"]
    }
${SOURCE}`,
    '      type        = "AWS"\n      identifiers = ["*"]\n    }',
  ]),
  bad("iam-too-broad", "all actions of SQS", STANDARD_TF, [
    '["sqs:ReceiveMessage", "sqs:DeleteMessage"]',
    '"sqs:*"',
  ]),
  bad("iam-too-broad", "all but a few actions", STANDARD_TF, [
    'Action = ["sqs:ReceiveMessage", "sqs:DeleteMessage"]',
    'NotAction = ["sqs:DeleteQueue"]',
  ]),
  bad("iam-too-broad", "every queue", STANDARD_TF, [
    '"sqs:DeleteMessage"], Resource = aws_sqs_queue.work.arn',
    '"sqs:DeleteMessage"], Resource = "*"',
  ]),
  bad("list-bucket-missing", "GetObject only", STANDARD_TF, [LIST_BUCKET, ""]),
  bad("bucket-without-tls", "no condition on TLS", STANDARD_TF, [
    TLS,
    '{ StringNotEquals = { "aws:SourceVpc" = "vpc-1" } }',
  ]),
  bad("dead-letter-alarm-missing", "an alarm on another metric", STANDARD_TF, [
    `  metric_name         = "ApproximateNumberOfMessagesVisible"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0`,
    `  metric_name         = "NumberOfEmptyReceives"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0`,
  ]),
  good("dead-letter-alarm-missing", "alarms by for_each", FIFO_TF),
  bad("backlog-alarm-missing", "an alarm on another queue", STANDARD_TF, [
    `  threshold           = 1000
  alarm_actions       = local.alarms
  dimensions          = { QueueName = aws_sqs_queue.work.name }`,
    `  threshold           = 1000
  alarm_actions       = local.alarms
  dimensions          = { QueueName = "other" }`,
  ]),
  bad("age-alarm-missing", "count 0", STANDARD_TF, [
    'resource "aws_cloudwatch_metric_alarm" "age" {',
    'resource "aws_cloudwatch_metric_alarm" "age" {\n  count = 0',
  ]),
  bad("alarm-always-on", "an alarm at zero or more", STANDARD_TF, [
    'comparison_operator = "GreaterThanThreshold"\n  threshold           = 0',
    'comparison_operator = "GreaterThanOrEqualToThreshold"\n  threshold           = 0',
  ]),
  good("alarm-always-on", "at least one", STANDARD_TF, [
    'comparison_operator = "GreaterThanThreshold"\n  threshold           = 0',
    'comparison_operator = "GreaterThanOrEqualToThreshold"\n  threshold           = 1',
  ]),
  also(
    bad("alarm-without-queue", "no dimension", STANDARD_TF, [
      `  threshold           = 1000
  alarm_actions       = local.alarms
  dimensions          = { QueueName = aws_sqs_queue.work.name }`,
      "  threshold           = 1000\n  alarm_actions       = local.alarms",
    ]),
    "backlog-alarm-missing",
  ),
  also(
    bad("alarm-on-sent", "dead letters that were sent", STANDARD_TF, [
      `  metric_name         = "ApproximateNumberOfMessagesVisible"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0`,
      `  metric_name         = "NumberOfMessagesSent"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0`,
    ]),
    "dead-letter-alarm-missing",
  ),
  bad("alarm-without-action", "no actions", STANDARD_TF, [
    "  threshold           = 0\n  alarm_actions       = local.alarms\n",
    "  threshold           = 0\n",
  ]),
  good("alarm-without-action", "actions of a variable", STANDARD_TF, [
    "  threshold           = 0\n  alarm_actions       = local.alarms\n",
    "  threshold           = 0\n  alarm_actions       = var.actions\n",
  ]),
  bad("dashboard-missing", "no dashboard", STANDARD_TF, [
    `resource "aws_cloudwatch_dashboard" "queues" {
  dashboard_name = "queues"
  dashboard_body = "{}"
}
`,
    "",
  ]),
  good("standard-topic-to-fifo-queue", "a FIFO topic", FIFO_TF),
  good("subscription-without-dead-letters", "an HTTP subscription beside it", STANDARD_TF, [
    'resource "aws_s3_bucket_notification" "in" {',
    `resource "aws_sns_topic_subscription" "page" {
  topic_arn = aws_sns_topic.oncall.arn
  protocol  = "https"
  endpoint  = "https://example.com"
}

resource "aws_s3_bucket_notification" "in" {`,
  ]),
  good("function-fails-whole-batch", "response types of a variable", FIFO_TF, [
    'function_response_types = ["ReportBatchItemFailures"]',
    "function_response_types = var.types",
  ]),
  good(
    "aws-managed-key",
    "alias/aws/sqs on a queue that no service sends to",
    FIFO_TF,
    ["  endpoint       = aws_sqs_queue.work.arn\n", "  endpoint       = var.queue\n"],
    [
      "  receive_wait_time_seconds   = 20\n  kms_master_key_id           = aws_kms_key.queues.arn",
      '  receive_wait_time_seconds   = 20\n  kms_master_key_id           = "alias/aws/sqs"',
    ],
  ),
  good("iam-too-broad", "a list of queues, which has no resource", STANDARD_TF, [
    LIST_BUCKET,
    `${LIST_BUCKET}      { Effect = "Allow", Action = "sqs:ListQueues", Resource = "*" },\n`,
  ]),
  good("list-bucket-missing", "all reading actions", STANDARD_TF, [
    'Action = "s3:ListBucket"',
    'Action = "s3:List*"',
  ]),
  good("bucket-without-tls", "a policy of a file", STANDARD_TF, [
    `  bucket = aws_s3_bucket.in.id
  policy = jsonencode({
    Version   = "2012-10-17"`,
    `  bucket = aws_s3_bucket.in.id
  policy = file("policy.json")
}

locals {
  other = jsonencode({
    Version   = "2012-10-17"`,
  ]),
  good("backlog-alarm-missing", "a queue of a variable", STANDARD_TF, [
    `  threshold           = 1000
  alarm_actions       = local.alarms
  dimensions          = { QueueName = aws_sqs_queue.work.name }`,
    `  threshold           = 1000
  alarm_actions       = local.alarms
  dimensions          = { QueueName = var.queue }`,
  ]),
  good("age-alarm-missing", "an alarm by metric query", FIFO_TF),
  good("alarm-without-queue", "an alarm on another service", STANDARD_TF, [
    'resource "aws_cloudwatch_dashboard" "queues" {',
    `resource "aws_cloudwatch_metric_alarm" "errors" {
  alarm_name  = "errors"
  namespace   = "AWS/Lambda"
  metric_name = "Errors"
}

resource "aws_cloudwatch_dashboard" "queues" {`,
  ]),
  good("alarm-on-sent", "messages sent to the queue itself", STANDARD_TF, [
    'resource "aws_cloudwatch_dashboard" "queues" {',
    `resource "aws_cloudwatch_metric_alarm" "sent" {
  alarm_name    = "sent"
  namespace     = "AWS/SQS"
  metric_name   = "NumberOfMessagesSent"
  alarm_actions = local.alarms
  dimensions    = { QueueName = aws_sqs_queue.work.name }
}

resource "aws_cloudwatch_dashboard" "queues" {`,
  ]),
  good("dashboard-missing", "a dashboard", STANDARD_TF),
  good("sender-not-allowed", "a statement by a for expression", STANDARD_TF, [
    "  policy    = data.aws_iam_policy_document.work.json",
    "  policy    = jsonencode({ Statement = concat([], [for s in var.services : { Effect = s }]) })",
  ]),
  good("backlog-alarm-missing", "alarms of a table", STANDARD_TF, [
    `  dimensions          = { QueueName = aws_sqs_queue.work.name }
}

resource "aws_cloudwatch_metric_alarm" "age" {`,
    `  for_each            = { for name, queue in var.queues : name => queue }
  dimensions          = local.dimensions[each.value]
}

locals {
  dimensions = { work = { QueueName = aws_sqs_queue.work.name } }
}

resource "aws_cloudwatch_metric_alarm" "age" {`,
  ]),
  good("backlog-alarm-missing", "alarms of a table that is known", STANDARD_TF, [
    `  dimensions          = { QueueName = aws_sqs_queue.work.name }
}

resource "aws_cloudwatch_metric_alarm" "age" {`,
    `  for_each            = { for name, queue in local.queues : name => queue if name != "none" }
  dimensions          = { QueueName = each.value }
}

locals {
  queues = { none = "other", work = aws_sqs_queue.work.name }
}

resource "aws_cloudwatch_metric_alarm" "age" {`,
  ]),
  bad("backlog-alarm-missing", "alarms of a table without the queue", STANDARD_TF, [
    `  dimensions          = { QueueName = aws_sqs_queue.work.name }
}

resource "aws_cloudwatch_metric_alarm" "age" {`,
    `  for_each            = toset([for name in ["a", "b"] : upper(name)])
  dimensions          = { QueueName = each.key }
}

resource "aws_cloudwatch_metric_alarm" "age" {`,
  ]),
  bad("receives-one", "no second receive", FIFO_TF, ["= 1000\n  })", "= 1\n  })"]),
  good("receives-one", "five receives", FIFO_TF, ["= 1000\n  })", "= 5\n  })"]),
  bad("pipe-fire-and-forget", "a state machine that no one waits for", FIFO_TF, [
    PIPE_TARGET,
    STATE_MACHINE("FIRE_AND_FORGET"),
  ]),
  good("pipe-fire-and-forget", "a state machine that is waited for", FIFO_TF, [
    PIPE_TARGET,
    STATE_MACHINE("REQUEST_RESPONSE"),
  ]),
  bad("scaling-by-cpu", "processor time", STANDARD_TF, [DASHBOARD, SCALING(CPU)]),
  good("scaling-by-cpu", "messages per task", STANDARD_TF, [DASHBOARD, SCALING(BACKLOG)]),
  good("scaling-by-cpu", "a service behind a load balancer", STANDARD_TF, [
    DASHBOARD,
    `resource "aws_ecs_service" "web" {
  load_balancer { target_group_arn = var.group }
}
${SCALING(CPU)}`,
  ]),
  bad("image-by-tag", "the latest image", STANDARD_TF, [DASHBOARD, TASK("app:latest")]),
  good("image-by-tag", "an image by digest", STANDARD_TF, [DASHBOARD, TASK("app@sha256:0a")]),
  good("image-by-tag", "an image of a variable", STANDARD_TF, [DASHBOARD, TASK(`\${var.image}`)]),
  good("function-fails-whole-batch", "one message per call", FIFO_TF, [
    '  function_response_types = ["ReportBatchItemFailures"]\n',
    "  batch_size = 1\n",
  ]),
  good("short-polling", "a queue that Lambda polls", FIFO_TF, [
    "  receive_wait_time_seconds   = 20\n",
    "",
  ]),
  good("dead-letters-retention", "FIFO, where retention starts again", FIFO_TF, [
    "message_retention_seconds = 1209600",
    "message_retention_seconds = 345600",
  ]),
  bad("dead-letters-time-left", "FIFO with a day for dead letters", FIFO_TF, [
    "message_retention_seconds = 1209600",
    "message_retention_seconds = 86400",
  ]),
  good("dead-letters-none", "the failures of a schedule", STANDARD_TF, [
    DASHBOARD,
    `resource "aws_scheduler_schedule" "nightly" {
  target {
    dead_letter_config { arn = aws_sqs_queue.unsent.arn }
  }
}
${UNSENT}`,
  ]),
  good("dead-letters-none", "the failures of a function", STANDARD_TF, [
    DASHBOARD,
    `resource "aws_lambda_function_event_invoke_config" "on" {
  destination_config {
    on_failure { destination = aws_sqs_queue.unsent.arn }
  }
}
${UNSENT}`,
  ]),
  good("dead-letters-none", "a policy from a template file", FIFO_TF, [
    "  visibility_timeout_seconds  = 60\n",
    '  visibility_timeout_seconds  = 60\n  redrive_policy = templatefile("a.json", {})\n',
  ]),
  good("dead-letters-none", "a policy for queues that are not known", FIFO_TF, [
    "  queue_url = aws_sqs_queue.work.id\n",
    "  for_each  = var.queues\n  queue_url = each.value\n",
  ]),
];
