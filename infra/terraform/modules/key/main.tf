# Key: a customer key for queue, topic, bucket and tables.
#   K1. S3 and SNS send to an encrypted queue only if the key's own policy lets them use it. The
#       policy of alias/aws/sqs does not, and cannot be changed.
#   K2. The roles of the pipeline get their rights from the module iam, by way of the account.

data "aws_caller_identity" "current" {}

data "aws_region" "current" {}

data "aws_partition" "current" {}

locals {
  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition

  # Built from the name: the topic itself depends on the key.
  topic_arns = [
    for name in compact([var.topic_name]) :
    "arn:${local.partition}:sns:${data.aws_region.current.region}:${local.account}:${name}"
  ]
}

resource "aws_kms_key" "this" {
  description             = "Encrypts the messages, objects and tables of the pipeline ${var.name}."
  deletion_window_in_days = 30
  enable_key_rotation     = true

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [
        {
          Sid       = "AllowAccount" # K2
          Effect    = "Allow"
          Principal = { AWS = "arn:${local.partition}:iam::${local.account}:root" }
          Action    = "kms:*"
          Resource  = "*"
        },
      ],
      [
        for arn in local.topic_arns : {
          Sid       = "AllowTopic" # K1
          Effect    = "Allow"
          Principal = { Service = "sns.amazonaws.com" }
          Action    = ["kms:Decrypt", "kms:GenerateDataKey*"]
          Resource  = "*"
          Condition = { ArnEquals = { "aws:SourceArn" = arn } }
        }
      ],
      [
        for service in var.from_bucket ? ["s3.amazonaws.com"] : [] : {
          Sid       = "AllowBucket" # K1
          Effect    = "Allow"
          Principal = { Service = service }
          Action    = ["kms:Decrypt", "kms:GenerateDataKey*"]
          Resource  = "*"
          Condition = { StringEquals = { "aws:SourceAccount" = local.account } }
        }
      ],
    )
  })
}

resource "aws_kms_alias" "this" {
  name          = "alias/${var.name}"
  target_key_id = aws_kms_key.this.key_id
}
