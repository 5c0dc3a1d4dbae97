# Lambda: feeds the queue to a function.
#   F1. Partial batch responses: without them one failed message returns the whole batch.
#   F2. The concurrency limit is on the mapping, not on the function: a throttled function makes SQS
#       count receives of messages that were never tried.

data "aws_partition" "current" {}

resource "aws_lambda_event_source_mapping" "this" {
  event_source_arn        = var.queue_arn
  function_name           = var.function_name
  batch_size              = var.batch_size
  function_response_types = ["ReportBatchItemFailures"] # F1

  scaling_config {
    maximum_concurrency = var.maximum_concurrency # F2
  }
}

resource "aws_iam_role_policy_attachment" "logs" {
  role       = var.consumer_role_name
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
}
