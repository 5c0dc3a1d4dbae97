# Topic: passes events on to the queue, unchanged.
#   T1. Raw delivery: the queue gets the published body and its attributes, without an envelope.
#   T2. A message that SNS cannot deliver goes to the dead-letter queue instead of being dropped.
#   T3. There is no filter policy: with one, SNS delivers from a FIFO topic at most once.

data "aws_caller_identity" "current" {}

resource "aws_sns_topic" "this" {
  #checkov:skip=CKV_AWS_26:SNS holds a message only until it is delivered, and S3 cannot use the key alias/aws/sns; set key_arn to encrypt it with a customer key.
  name                        = var.name
  fifo_topic                  = var.fifo
  content_based_deduplication = false
  kms_master_key_id           = var.key_arn
}

resource "aws_sns_topic_policy" "this" {
  arn = aws_sns_topic.this.arn

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [
        {
          Sid       = "DenyPlainHttp"
          Effect    = "Deny"
          Principal = { AWS = "*" }
          Action    = "sns:Publish"
          Resource  = aws_sns_topic.this.arn
          Condition = { Bool = { "aws:SecureTransport" = "false" } }
        },
      ],
      [
        for bucket_arn in compact([var.bucket_arn]) : {
          Sid       = "AllowBucket"
          Effect    = "Allow"
          Principal = { Service = "s3.amazonaws.com" }
          Action    = "sns:Publish"
          Resource  = aws_sns_topic.this.arn
          Condition = {
            ArnEquals = { "aws:SourceArn" = bucket_arn }
            # The ARN of a bucket has no account, and a deleted bucket's name can be taken by another.
            StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id }
          }
        }
      ],
    )
  })
}

resource "aws_sns_topic_subscription" "queue" {
  topic_arn            = aws_sns_topic.this.arn
  protocol             = "sqs"
  endpoint             = var.queue_arn
  raw_message_delivery = true                                                            # T1
  redrive_policy       = jsonencode({ deadLetterTargetArn = var.dead_letter_queue_arn }) # T2
}
