# IAM: one role each for the consumer, the producer and the operator.
#   I1. policies.tf lists exact actions on exact resources. The table behind it is compared with the
#       calls that Tidegate really makes.

data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

locals {
  account_root = "arn:${data.aws_partition.current.partition}:iam::${data.aws_caller_identity.current.account_id}:root"
  s3_arn       = "arn:${data.aws_partition.current.partition}:s3:::"

  trust = {
    consumer = { Service = var.consumer_services }
    producer = { AWS = coalescelist(var.producer_principals, [local.account_root]) }
    operator = { AWS = coalescelist(var.operator_principals, [local.account_root]) }
  }
}

resource "aws_iam_role" "consumer" {
  name        = "${var.name}-consumer"
  description = "Runs the pipeline."

  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = local.trust.consumer }]
  })
}

resource "aws_iam_role_policy" "consumer" {
  name   = "pipeline"
  role   = aws_iam_role.consumer.id
  policy = local.policies.consumer # I1
}

resource "aws_iam_role" "producer" {
  name        = "${var.name}-producer"
  description = "Sends what the pipeline consumes."

  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = local.trust.producer }]
  })
}

resource "aws_iam_role_policy" "producer" {
  name   = "pipeline"
  role   = aws_iam_role.producer.id
  policy = local.policies.producer # I1
}

resource "aws_iam_role" "operator" {
  name        = "${var.name}-operator"
  description = "Looks after dead letters and the ledger."

  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = local.trust.operator }]
  })
}

resource "aws_iam_role_policy" "operator" {
  name   = "pipeline"
  role   = aws_iam_role.operator.id
  policy = local.policies.operator # I1
}
