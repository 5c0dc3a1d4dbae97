# Policies: what each role may do. Generated from the IAM table of Tidegate; do not edit it by hand.
# docs/guides/iam.md explains every line.

locals {
  resources = {
    queue              = [var.queue_arn]
    dead_letter_queue  = [var.dead_letter_queue_arn]
    topic              = compact([var.topic_arn])
    target_queue       = compact([var.target_queue_arn])
    target_topic       = compact([var.target_topic_arn])
    bucket             = compact([var.bucket_arn])
    objects            = [for arn in compact([var.bucket_arn]) : "${arn}/${var.prefix}*"]
    claim_check_bucket = compact([var.claim_check_bucket_arn])
    claim_checks       = [for arn in compact([var.claim_check_bucket_arn]) : "${arn}/*"]
    ledger             = compact([var.ledger_table_arn])
    ledger_notes       = [for arn in compact([var.ledger_table_arn]) : "${arn}/index/notes"]
    outbox             = compact([var.outbox_table_arn])
    key                = compact([var.key_arn])
  }

  statements = {
    consumer = [
      {
        Sid      = "SqsQueueDeadLetterQueue"
        Effect   = "Allow"
        Action   = ["sqs:GetQueueUrl", "sqs:GetQueueAttributes"]
        Resource = concat(local.resources.queue, local.resources.dead_letter_queue)
      },
      {
        Sid    = "SqsQueue"
        Effect = "Allow"
        Action = [
          "sqs:ReceiveMessage",
          "sqs:ChangeMessageVisibility",
          "sqs:DeleteMessage",
        ]
        Resource = local.resources.queue
      },
      {
        Sid      = "SqsDeadLetterQueue"
        Effect   = "Allow"
        Action   = ["sqs:SendMessage"]
        Resource = local.resources.dead_letter_queue
      },
      {
        Sid      = "S3ObjectsClaimChecks"
        Effect   = "Allow"
        Action   = ["s3:GetObject"]
        Resource = concat(local.resources.objects, local.resources.claim_checks)
      },
      {
        Sid    = "S3Objects"
        Effect = "Allow"
        Action = [
          "s3:GetObjectVersion",
          "s3:GetObjectTagging",
          "s3:GetObjectVersionTagging",
        ]
        Resource = local.resources.objects
      },
      {
        Sid      = "S3BucketClaimCheckBucket"
        Effect   = "Allow"
        Action   = ["s3:ListBucket"]
        Resource = concat(local.resources.bucket, local.resources.claim_check_bucket)
      },
      {
        Sid    = "DynamodbLedger"
        Effect = "Allow"
        Action = [
          "dynamodb:GetItem",
          "dynamodb:BatchGetItem",
          "dynamodb:PutItem",
          "dynamodb:UpdateItem",
          "dynamodb:DeleteItem",
        ]
        Resource = local.resources.ledger
      },
      {
        Sid      = "DynamodbLedgerNotes"
        Effect   = "Allow"
        Action   = ["dynamodb:Query"]
        Resource = local.resources.ledger_notes
      },
      {
        Sid      = "KmsKey"
        Effect   = "Allow"
        Action   = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource = local.resources.key
      },
    ]
    producer = [
      {
        Sid      = "SqsTargetQueue"
        Effect   = "Allow"
        Action   = ["sqs:GetQueueUrl", "sqs:SendMessage"]
        Resource = local.resources.target_queue
      },
      {
        Sid      = "SnsTargetTopic"
        Effect   = "Allow"
        Action   = ["sns:Publish"]
        Resource = local.resources.target_topic
      },
      {
        Sid      = "S3Objects"
        Effect   = "Allow"
        Action   = ["s3:PutObject"]
        Resource = local.resources.objects
      },
      {
        Sid      = "S3ClaimChecks"
        Effect   = "Allow"
        Action   = ["s3:PutObject"]
        Resource = local.resources.claim_checks
      },
      {
        Sid    = "DynamodbOutbox"
        Effect = "Allow"
        Action = [
          "dynamodb:GetItem",
          "dynamodb:PutItem",
          "dynamodb:DeleteItem",
          "dynamodb:BatchGetItem",
          "dynamodb:BatchWriteItem",
          "dynamodb:Query",
          "dynamodb:Scan",
        ]
        Resource = local.resources.outbox
      },
      {
        Sid      = "KmsKey"
        Effect   = "Allow"
        Action   = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource = local.resources.key
      },
    ]
    operator = [
      {
        Sid    = "SqsQueueDeadLetterQueue"
        Effect = "Allow"
        Action = [
          "sqs:GetQueueUrl",
          "sqs:GetQueueAttributes",
          "sqs:ChangeMessageVisibility",
        ]
        Resource = concat(local.resources.queue, local.resources.dead_letter_queue)
      },
      {
        Sid      = "SqsDeadLetterQueue"
        Effect   = "Allow"
        Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage"]
        Resource = local.resources.dead_letter_queue
      },
      {
        Sid      = "SqsQueue"
        Effect   = "Allow"
        Action   = ["sqs:SendMessage"]
        Resource = local.resources.queue
      },
      {
        Sid      = "SnsTopic"
        Effect   = "Allow"
        Action   = ["sns:GetTopicAttributes", "sns:ListSubscriptionsByTopic"]
        Resource = local.resources.topic
      },
      {
        Sid    = "S3BucketClaimCheckBucket"
        Effect = "Allow"
        Action = [
          "s3:GetBucketVersioning",
          "s3:GetBucketNotification",
          "s3:GetBucketPolicy",
          "s3:GetBucketPublicAccessBlock",
        ]
        Resource = concat(local.resources.bucket, local.resources.claim_check_bucket)
      },
      {
        Sid    = "DynamodbLedgerOutbox"
        Effect = "Allow"
        Action = [
          "dynamodb:DescribeTable",
          "dynamodb:DescribeContinuousBackups",
          "dynamodb:DescribeTimeToLive",
        ]
        Resource = concat(local.resources.ledger, local.resources.outbox)
      },
      {
        Sid    = "DynamodbLedger"
        Effect = "Allow"
        Action = [
          "dynamodb:GetItem",
          "dynamodb:BatchGetItem",
          "dynamodb:Scan",
          "dynamodb:PutItem",
          "dynamodb:DeleteItem",
        ]
        Resource = local.resources.ledger
      },
      {
        Sid      = "DynamodbLedgerNotes"
        Effect   = "Allow"
        Action   = ["dynamodb:Query"]
        Resource = local.resources.ledger_notes
      },
      {
        Sid      = "KmsKey"
        Effect   = "Allow"
        Action   = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource = local.resources.key
      },
    ]
  }

  policies = {
    for role, statements in local.statements : role => jsonencode({
      Version   = "2012-10-17"
      Statement = [for statement in statements : statement if length(statement.Resource) > 0]
    })
  }
}
