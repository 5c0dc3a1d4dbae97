# Notification: sends the events of a bucket to a topic or to a queue.
#   N1. S3 checks that it may send when this is created, so the policies of the target come first:
#       call this module with depends_on.

resource "aws_s3_bucket_notification" "topic" {
  count  = var.to_topic ? 1 : 0
  bucket = var.bucket

  topic {
    id            = "tidegate"
    topic_arn     = var.target_arn
    events        = ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]
    filter_prefix = var.prefix
  }
}

resource "aws_s3_bucket_notification" "queue" {
  count  = var.to_topic ? 0 : 1
  bucket = var.bucket

  queue {
    id            = "tidegate"
    queue_arn     = var.target_arn
    events        = ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]
    filter_prefix = var.prefix
  }
}
