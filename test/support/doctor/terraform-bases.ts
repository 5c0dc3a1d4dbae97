// Terraform bases: two good configurations, which the cases of the corpus change in one place.

/** Bucket -> topic -> standard queue, with a function that reads the queue. */
export const STANDARD_TF = `
variable "name" { default = "orders" }

locals {
  account = data.aws_caller_identity.current.account_id
  alarms  = [aws_sns_topic.oncall.arn]
}

data "aws_caller_identity" "current" {}

resource "aws_sns_topic" "oncall" { name = "oncall" }

resource "aws_s3_bucket" "in" { bucket = "\${var.name}-in" }

resource "aws_s3_bucket_versioning" "in" {
  bucket = aws_s3_bucket.in.id
  versioning_configuration { status = "Enabled" }
}

resource "aws_s3_bucket_policy" "in" {
  bucket = aws_s3_bucket.in.id
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [aws_s3_bucket.in.arn, "\${aws_s3_bucket.in.arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

resource "aws_s3_bucket_notification" "in" {
  bucket = aws_s3_bucket.in.id
  topic {
    topic_arn     = aws_sns_topic.objects.arn
    events        = ["s3:ObjectCreated:*"]
    filter_prefix = "in/"
  }
}

resource "aws_sns_topic" "objects" { name = "\${var.name}-objects" }

resource "aws_sns_topic_subscription" "queue" {
  topic_arn            = aws_sns_topic.objects.arn
  protocol             = "sqs"
  endpoint             = aws_sqs_queue.work.arn
  raw_message_delivery = true
  redrive_policy       = jsonencode({ deadLetterTargetArn = aws_sqs_queue.dead.arn })
}

resource "aws_sqs_queue" "work" {
  name                       = var.name
  visibility_timeout_seconds = 60
  message_retention_seconds  = 4 * 24 * 3600
  receive_wait_time_seconds  = 20
  sqs_managed_sse_enabled    = true
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead.arn
    maxReceiveCount     = 25
  })
}

resource "aws_sqs_queue" "dead" {
  name                      = "\${var.name}-dead"
  message_retention_seconds = 1209600
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.work.arn]
  })
}

data "aws_iam_policy_document" "work" {
  statement {
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.work.arn]
    principals {
      type        = "Service"
      identifiers = ["sns.amazonaws.com"]
    }
    condition {
      test     = "ArnEquals"
      variable = "aws:SourceArn"
      values   = [aws_sns_topic.objects.arn]
    }
  }
}

resource "aws_sqs_queue_policy" "work" {
  queue_url = aws_sqs_queue.work.id
  policy    = data.aws_iam_policy_document.work.json
}

resource "aws_iam_role_policy" "consumer" {
  name = "consumer"
  role = "consumer"
  policy = jsonencode({
    Statement = [
      { Effect = "Allow", Action = ["sqs:ReceiveMessage", "sqs:DeleteMessage"], Resource = aws_sqs_queue.work.arn },
      { Effect = "Allow", Action = "s3:GetObject", Resource = "\${aws_s3_bucket.in.arn}/in/*" },
      { Effect = "Allow", Action = "s3:ListBucket", Resource = aws_s3_bucket.in.arn },
    ]
  })
}

resource "aws_cloudwatch_metric_alarm" "dead" {
  alarm_name          = "dead letters"
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  alarm_actions       = local.alarms
  dimensions          = { QueueName = aws_sqs_queue.dead.name }
}

resource "aws_cloudwatch_metric_alarm" "backlog" {
  alarm_name          = "backlog"
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 1000
  alarm_actions       = local.alarms
  dimensions          = { QueueName = aws_sqs_queue.work.name }
}

resource "aws_cloudwatch_metric_alarm" "age" {
  alarm_name          = "age"
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateAgeOfOldestMessage"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 300
  alarm_actions       = local.alarms
  dimensions          = { QueueName = aws_sqs_queue.work.name }
}

resource "aws_cloudwatch_dashboard" "queues" {
  dashboard_name = "queues"
  dashboard_body = "{}"
}
`;

/** FIFO topic -> FIFO queue with a customer managed key, a pipe and a function. */
export const FIFO_TF = `
resource "aws_sns_topic" "events" {
  name       = "events.fifo"
  fifo_topic = true
}

resource "aws_sns_topic_subscription" "queue" {
  topic_arn      = aws_sns_topic.events.arn
  protocol       = "sqs"
  endpoint       = aws_sqs_queue.work.arn
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.dead.arn })
}

resource "aws_kms_key" "queues" {
  description = "queues"
}

resource "aws_kms_key_policy" "queues" {
  key_id = aws_kms_key.queues.key_id
  policy = jsonencode({
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "sns.amazonaws.com" }
      Action    = ["kms:GenerateDataKey*", "kms:Decrypt"]
      Resource  = "*"
    }]
  })
}

resource "aws_sqs_queue" "work" {
  name                        = "events.fifo"
  fifo_queue                  = true
  content_based_deduplication = false
  visibility_timeout_seconds  = 60
  receive_wait_time_seconds   = 20
  kms_master_key_id           = aws_kms_key.queues.arn
}

resource "aws_sqs_queue_redrive_policy" "work" {
  queue_url = aws_sqs_queue.work.id
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead.arn
    maxReceiveCount     = 1000
  })
}

resource "aws_sqs_queue" "dead" {
  name                      = "events-dead.fifo"
  fifo_queue                = true
  message_retention_seconds = 1209600
  kms_master_key_id         = aws_kms_key.queues.arn
}

resource "aws_sqs_queue_policy" "work" {
  queue_url = aws_sqs_queue.work.url
  policy    = <<EOF
{
  "Statement": [{
    "Effect": "Allow",
    "Principal": { "Service": "sns.amazonaws.com" },
    "Action": "sqs:SendMessage",
    "Resource": "\${aws_sqs_queue.work.arn}",
    "Condition": { "ArnEquals": { "aws:SourceArn": "\${aws_sns_topic.events.arn}" } }
  }]
}
EOF
}

resource "aws_lambda_function" "consumer" {
  function_name = "consumer"
  timeout       = 10
}

resource "aws_lambda_event_source_mapping" "consumer" {
  event_source_arn        = aws_sqs_queue.work.arn
  function_name           = aws_lambda_function.consumer.arn
  function_response_types = ["ReportBatchItemFailures"]
}

resource "aws_pipes_pipe" "copy" {
  name   = "copy"
  source = aws_sqs_queue.work.arn
  target = aws_sqs_queue.dead.arn
}

resource "aws_cloudwatch_metric_alarm" "all" {
  for_each            = { "events-dead.fifo" = 0, "events.fifo" = 1000 }
  alarm_name          = each.key
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value
  alarm_actions       = [var.topic]
  dimensions          = { QueueName = each.key }
}

resource "aws_cloudwatch_metric_alarm" "age" {
  alarm_name          = "age"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 300
  alarm_actions       = [var.topic]
  metric_query {
    id = "age"
    metric {
      namespace   = "AWS/SQS"
      metric_name = "ApproximateAgeOfOldestMessage"
      dimensions  = { QueueName = aws_sqs_queue.work.name }
    }
  }
}

resource "aws_cloudwatch_dashboard" "queues" {
  dashboard_name = "queues"
  dashboard_body = "{}"
}
`;
