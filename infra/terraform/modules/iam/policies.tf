# Policies: what each role may do. Generated from the IAM table of Tidegate; do not edit it by hand.
# docs/guides/iam.md explains every line.

locals {
  resources = {
    queue               = [var.queue_arn]
    dead_letter_queue   = [var.dead_letter_queue_arn]
    late_queue          = [for name in compact([var.late_queue_name]) : replace(var.queue_arn, "/[^:]+$/", name)]
    topic               = compact([var.topic_arn])
    target_queue        = compact([var.target_queue_arn])
    target_topic        = compact([var.target_topic_arn])
    bucket              = compact([var.bucket_arn])
    listed_bucket       = [for arn in compact([var.bucket_arn]) : arn if var.backfill]
    objects             = [for arn in compact([var.bucket_arn]) : "${arn}/${var.prefix}*"]
    claim_check_bucket  = compact([var.claim_check_bucket_arn])
    claim_checks        = [for arn in compact([var.claim_check_bucket_arn]) : "${arn}/*"]
    archived_messages   = [for name in compact([var.archived_messages]) : "arn:${split(":", var.queue_arn)[1]}:s3:::${name}*"]
    ledger              = compact([var.ledger_table_arn])
    ledger_notes        = [for arn in compact([var.ledger_table_arn]) : "${arn}/index/notes"]
    ledger_lists        = var.ledger_list_index_arns
    outbox              = compact([var.outbox_table_arn])
    task_definition     = [for arn in compact([var.cluster_arn]) : "${split(":cluster/", arn)[0]}:task-definition/${var.task_family}:*"]
    tasks               = [for arn in compact([var.cluster_arn]) : "${replace(arn, ":cluster/", ":task/")}/*"]
    any_task            = [for arn in compact([var.cluster_arn]) : "*"]
    task_roles          = var.task_role_arns
    task_results_bucket = [for arn in compact([var.task_results_arn]) : split("/", arn)[0]]
    task_results        = [for arn in compact([var.task_results_arn]) : "${arn}/*"]
    outputs             = [for name in var.outputs : "${local.s3_arn}${name}/*"]
    output_buckets      = distinct([for name in var.outputs : "${local.s3_arn}${split("/", name)[0]}"])
    key                 = compact([var.key_arn])
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
        Sid    = "SqsLateQueue"
        Effect = "Allow"
        Action = [
          "sqs:GetQueueUrl",
          "sqs:GetQueueAttributes",
          "sqs:SendMessage",
        ]
        Resource = local.resources.late_queue
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
        Sid      = "S3ListedBucket"
        Effect   = "Allow"
        Action   = ["s3:ListBucketVersions"]
        Resource = local.resources.listed_bucket
      },
      {
        Sid      = "S3ArchivedMessages"
        Effect   = "Allow"
        Action   = ["s3:PutObject"]
        Resource = local.resources.archived_messages
      },
      {
        Sid    = "DynamodbLedger"
        Effect = "Allow"
        Action = [
          "dynamodb:GetItem",
          "dynamodb:BatchGetItem",
          "dynamodb:PutItem",
          "dynamodb:ConditionCheckItem",
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
        Sid      = "DynamodbLedgerLists"
        Effect   = "Allow"
        Action   = ["dynamodb:Query"]
        Resource = local.resources.ledger_lists
      },
      {
        Sid      = "EcsTaskDefinition"
        Effect   = "Allow"
        Action   = ["ecs:RunTask"]
        Resource = local.resources.task_definition
        Condition = {
          ArnEquals = {
            "ecs:cluster" = var.cluster_arn
          }
        }
      },
      {
        Sid      = "EcsTasks"
        Effect   = "Allow"
        Action   = ["ecs:TagResource", "ecs:DescribeTasks", "ecs:StopTask"]
        Resource = local.resources.tasks
      },
      {
        Sid      = "EcsAnyTask"
        Effect   = "Allow"
        Action   = ["ecs:ListTasks"]
        Resource = local.resources.any_task
        Condition = {
          ArnEquals = {
            "ecs:cluster" = var.cluster_arn
          }
        }
      },
      {
        Sid      = "IamTaskRoles"
        Effect   = "Allow"
        Action   = ["iam:PassRole"]
        Resource = local.resources.task_roles
        Condition = {
          StringEquals = {
            "iam:PassedToService" = "ecs-tasks.amazonaws.com"
          }
        }
      },
      {
        Sid      = "S3TaskResults"
        Effect   = "Allow"
        Action   = ["s3:GetObject"]
        Resource = local.resources.task_results
      },
      {
        Sid      = "S3TaskResultsBucket"
        Effect   = "Allow"
        Action   = ["s3:ListBucket"]
        Resource = local.resources.task_results_bucket
      },
      {
        Sid      = "S3Outputs"
        Effect   = "Allow"
        Action   = ["s3:PutObject", "s3:GetObject"]
        Resource = local.resources.outputs
      },
      {
        Sid      = "S3OutputBuckets"
        Effect   = "Allow"
        Action   = ["s3:ListBucket"]
        Resource = local.resources.output_buckets
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
        Sid      = "SqsLateQueue"
        Effect   = "Allow"
        Action   = ["sqs:GetQueueUrl", "sqs:GetQueueAttributes"]
        Resource = local.resources.late_queue
      },
      {
        Sid    = "SnsTopic"
        Effect = "Allow"
        Action = [
          "sns:GetTopicAttributes",
          "sns:ListSubscriptionsByTopic",
          "sns:GetSubscriptionAttributes",
        ]
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
          "s3:GetEncryptionConfiguration",
          "s3:GetBucketOwnershipControls",
        ]
        Resource = concat(local.resources.bucket, local.resources.claim_check_bucket)
      },
      {
        Sid      = "S3Bucket"
        Effect   = "Allow"
        Action   = ["s3:ListBucketVersions"]
        Resource = local.resources.bucket
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
        Sid      = "DynamodbLedgerLists"
        Effect   = "Allow"
        Action   = ["dynamodb:Query"]
        Resource = local.resources.ledger_lists
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
