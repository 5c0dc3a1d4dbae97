# Table: the alarms. Generated from the alarm table of Tidegate; do not edit it by hand.

locals {
  threshold_alarms = {
    dead-letters = {
      on        = "dead_letter_queue"
      severity  = "critical"
      operator  = "GreaterThanThreshold"
      statistic = "Maximum"
      period    = 60
      periods   = 1
      metric    = "ApproximateNumberOfMessagesVisible"
      threshold = 0
      why       = "A message could not be processed."
      runbook   = "dead-letter-redrive.md#runbook-dead-letters"
    }
    dead-letters-expire = {
      on        = "dead_letter_queue"
      severity  = "critical"
      operator  = "GreaterThanThreshold"
      statistic = "Maximum"
      period    = 3600
      periods   = 1
      metric    = "ApproximateAgeOfOldestMessage"
      threshold = 604800
      why       = "Dead letters are deleted after 14 days, counted from the first send on a standard queue."
      runbook   = "dead-letter-redrive.md#runbook-dead-letters"
    }
    backlog = {
      on        = "queue"
      severity  = "warning"
      operator  = "GreaterThanThreshold"
      statistic = "Average"
      period    = 300
      periods   = 2
      metric    = "ApproximateNumberOfMessagesVisible"
      threshold = 1000
      why       = "Messages arrive faster than they are processed."
      runbook   = "backlog.md#the-queue-grows"
    }
    backlog-critical = {
      on        = "queue"
      severity  = "critical"
      operator  = "GreaterThanThreshold"
      statistic = "Average"
      period    = 300
      periods   = 2
      metric    = "ApproximateNumberOfMessagesVisible"
      threshold = 10000
      why       = "Messages arrive much faster than they are processed."
      runbook   = "backlog.md#the-queue-grows"
    }
    age = {
      on        = "queue"
      severity  = "warning"
      operator  = "GreaterThanThreshold"
      statistic = "Maximum"
      period    = 300
      periods   = 2
      metric    = "ApproximateAgeOfOldestMessage"
      threshold = 300
      why       = "A message waits longer than 5 minutes."
      runbook   = "backlog.md#messages-wait-too-long"
    }
    age-critical = {
      on        = "queue"
      severity  = "critical"
      operator  = "GreaterThanThreshold"
      statistic = "Maximum"
      period    = 300
      periods   = 2
      metric    = "ApproximateAgeOfOldestMessage"
      threshold = 1800
      why       = "A message waits longer than 30 minutes."
      runbook   = "backlog.md#messages-wait-too-long"
    }
    in-flight = {
      on        = "queue"
      severity  = "warning"
      operator  = "GreaterThanThreshold"
      statistic = "Maximum"
      period    = 300
      periods   = 2
      metric    = "ApproximateNumberOfMessagesNotVisible"
      threshold = 100000
      why       = "SQS stops delivering at 120000 messages in flight; consumers may hang."
      runbook   = "backlog.md#too-many-messages-in-flight"
    }
    undelivered = {
      on        = "topic"
      severity  = "critical"
      operator  = "GreaterThanThreshold"
      statistic = "Sum"
      period    = 300
      periods   = 1
      metric    = "NumberOfNotificationsFailed"
      threshold = 0
      why       = "The topic cannot deliver to the queue: check the queue policy and the KMS key."
      runbook   = "backlog.md#the-topic-cannot-deliver"
    }
  }

  anomaly_alarms = {
    fewer-sent = {
      on         = "queue"
      severity   = "warning"
      operator   = "LessThanLowerThreshold"
      statistic  = "Sum"
      period     = 900
      periods    = 4
      metric     = "NumberOfMessagesSent"
      deviations = 2
      why        = "Far fewer messages arrive than usual at this time."
      runbook    = "backlog.md#fewer-messages-than-usual"
    }
    fewer-processed = {
      on         = "queue"
      severity   = "warning"
      operator   = "LessThanLowerThreshold"
      statistic  = "Sum"
      period     = 900
      periods    = 4
      metric     = "NumberOfMessagesDeleted"
      deviations = 2
      why        = "Far fewer messages are processed than usual at this time."
      runbook    = "backlog.md#fewer-messages-than-usual"
    }
  }

  formula_alarms = {
    stalled = {
      on        = "queue"
      severity  = "critical"
      operator  = "GreaterThanThreshold"
      statistic = "Sum"
      period    = 300
      periods   = 3
      formula   = "IF(a > 0 AND FILL(b, 0) < 1, 1, 0)"
      metric_a  = "ApproximateNumberOfMessagesVisible"
      metric_b  = "NumberOfMessagesDeleted"
      threshold = 0
      why       = "Messages wait and none was processed for 15 minutes. The age of the oldest message does not show it: SQS leaves poison messages out."
      runbook   = "backlog.md#nothing-is-processed"
    }
  }
}
