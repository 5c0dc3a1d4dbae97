# Dashboard: the state of queue, dead-letter queue and topic on one page.

data "aws_region" "current" {}

locals {
  widgets = [
    {
      title = "Messages that wait and in flight"
      stat  = "Maximum"
      metrics = [
        ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", var.queue_name],
        ["AWS/SQS", "ApproximateNumberOfMessagesNotVisible", "QueueName", var.queue_name],
      ]
    },
    {
      title   = "Age of the oldest message, in seconds"
      stat    = "Maximum"
      metrics = [["AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", var.queue_name]]
    },
    {
      title = "Messages sent and processed"
      stat  = "Sum"
      metrics = [
        ["AWS/SQS", "NumberOfMessagesSent", "QueueName", var.queue_name],
        ["AWS/SQS", "NumberOfMessagesDeleted", "QueueName", var.queue_name],
      ]
    },
    {
      title   = "Dead letters"
      stat    = "Maximum"
      metrics = [["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", var.dead_letter_queue_name]]
    },
  ]

  topic_widgets = [
    for name in compact([var.topic_name]) : {
      title = "Notifications of the topic"
      stat  = "Sum"
      metrics = [
        ["AWS/SNS", "NumberOfMessagesPublished", "TopicName", name],
        ["AWS/SNS", "NumberOfNotificationsFailed", "TopicName", name],
      ]
    }
  ]
}

resource "aws_cloudwatch_dashboard" "this" {
  dashboard_name = var.name

  dashboard_body = jsonencode({
    widgets = [
      for at, widget in concat(local.widgets, local.topic_widgets) : {
        type   = "metric"
        width  = 12
        height = 6
        x      = at % 2 * 12
        y      = floor(at / 2) * 6
        properties = {
          title   = widget.title
          region  = data.aws_region.current.region
          stat    = widget.stat
          period  = 60
          view    = "timeSeries"
          metrics = widget.metrics
        }
      }
    ]
  })
}
