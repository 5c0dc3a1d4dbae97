# Queue: the queue of a pipeline and its dead-letter queue.
#   Q1. Both have the same type, which SQS requires, and both are encrypted.
#   Q2. The dead-letter queue keeps messages longer: a standard queue counts from the first send.
#   Q3. Only the queue may move messages into the dead-letter queue.
#   Q4. Of all services, only the given topic or bucket may send, and nothing may over plain HTTP.

data "aws_caller_identity" "current" {}

locals {
  sources = compact([var.source_service])

  # The ARN of a topic names its account. The ARN of a bucket does not.
  source_condition = {
    "sns.amazonaws.com" = { ArnEquals = { "aws:SourceArn" = var.source_arn } }
    "s3.amazonaws.com" = {
      ArnEquals    = { "aws:SourceArn" = var.source_arn }
      StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id }
    }
  }

  # SNS also sends to the dead-letter queue, what it cannot deliver to the queue.
  dead_letter_sources = [for service in local.sources : service if service == "sns.amazonaws.com"]
}

resource "aws_sqs_queue" "dead_letters" {
  name                              = var.dead_letter_queue_name
  fifo_queue                        = var.fifo                          # Q1
  message_retention_seconds         = var.dead_letter_retention_seconds # Q2
  receive_wait_time_seconds         = 20
  visibility_timeout_seconds        = var.visibility_timeout_seconds
  sqs_managed_sse_enabled           = var.key_arn == null ? true : null
  kms_master_key_id                 = var.key_arn
  kms_data_key_reuse_period_seconds = var.key_arn == null ? null : 300
}

resource "aws_sqs_queue" "this" {
  name                              = var.name
  fifo_queue                        = var.fifo
  message_retention_seconds         = var.retention_seconds
  receive_wait_time_seconds         = 20
  visibility_timeout_seconds        = var.visibility_timeout_seconds
  sqs_managed_sse_enabled           = var.key_arn == null ? true : null
  kms_master_key_id                 = var.key_arn
  kms_data_key_reuse_period_seconds = var.key_arn == null ? null : 300

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_letters.arn
    maxReceiveCount     = var.max_receive_count
  })
}

resource "aws_sqs_queue_redrive_allow_policy" "dead_letters" {
  queue_url = aws_sqs_queue.dead_letters.id

  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue" # Q3
    sourceQueueArns   = [aws_sqs_queue.this.arn]
  })
}

resource "aws_sqs_queue_policy" "this" {
  queue_url = aws_sqs_queue.this.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [
        {
          Sid       = "DenyPlainHttp"
          Effect    = "Deny"
          Principal = "*"
          Action    = "sqs:*"
          Resource  = aws_sqs_queue.this.arn
          Condition = { Bool = { "aws:SecureTransport" = "false" } }
        },
      ],
      [
        for service in local.sources : {
          Sid       = "AllowSource" # Q4
          Effect    = "Allow"
          Principal = { Service = service }
          Action    = "sqs:SendMessage"
          Resource  = aws_sqs_queue.this.arn
          Condition = local.source_condition[service]
        }
      ],
    )
  })
}

resource "aws_sqs_queue_policy" "dead_letters" {
  queue_url = aws_sqs_queue.dead_letters.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [
        {
          Sid       = "DenyPlainHttp"
          Effect    = "Deny"
          Principal = "*"
          Action    = "sqs:*"
          Resource  = aws_sqs_queue.dead_letters.arn
          Condition = { Bool = { "aws:SecureTransport" = "false" } }
        },
      ],
      [
        for service in local.dead_letter_sources : {
          Sid       = "AllowSource" # Q4
          Effect    = "Allow"
          Principal = { Service = service }
          Action    = "sqs:SendMessage"
          Resource  = aws_sqs_queue.dead_letters.arn
          Condition = local.source_condition[service]
        }
      ],
    )
  })
}
