# Alarms: the table in table.tf as CloudWatch alarms.
#   A1. Every alarm has the name of its queue or topic as a dimension, and a link to its runbook.
#   A2. Missing data is not breaching: SQS reports nothing for a queue that is idle.

locals {
  dimensions = {
    queue             = { QueueName = var.queue_name }
    dead_letter_queue = { QueueName = var.dead_letter_queue_name }
    topic             = { TopicName = var.topic_name }
  }

  namespaces = {
    queue             = "AWS/SQS"
    dead_letter_queue = "AWS/SQS"
    topic             = "AWS/SNS"
  }

  absent = var.topic_name == null ? ["topic"] : []
}

resource "aws_cloudwatch_metric_alarm" "threshold" {
  for_each = { for name, alarm in local.threshold_alarms : name => alarm if !contains(local.absent, alarm.on) }

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = "${each.value.why} Severity: ${each.value.severity}. Runbook: ${var.runbook_base_url}/${each.value.runbook}"
  namespace           = local.namespaces[each.value.on]
  metric_name         = each.value.metric
  dimensions          = local.dimensions[each.value.on] # A1
  statistic           = each.value.statistic
  period              = each.value.period
  evaluation_periods  = each.value.periods
  comparison_operator = each.value.operator
  threshold           = lookup(var.thresholds, each.key, each.value.threshold)
  treat_missing_data  = "notBreaching" # A2
  alarm_actions       = var.actions
  ok_actions          = var.actions
}

resource "aws_cloudwatch_metric_alarm" "formula" {
  for_each = local.formula_alarms

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = "${each.value.why} Severity: ${each.value.severity}. Runbook: ${var.runbook_base_url}/${each.value.runbook}"
  evaluation_periods  = each.value.periods
  comparison_operator = each.value.operator
  threshold           = lookup(var.thresholds, each.key, each.value.threshold)
  treat_missing_data  = "notBreaching" # A2
  alarm_actions       = var.actions
  ok_actions          = var.actions

  metric_query {
    id          = "formula"
    expression  = each.value.formula
    label       = each.key
    return_data = true
  }

  metric_query {
    id = "a"

    metric {
      namespace   = local.namespaces[each.value.on]
      metric_name = each.value.metric_a
      dimensions  = local.dimensions[each.value.on] # A1
      period      = each.value.period
      stat        = each.value.statistic
    }
  }

  metric_query {
    id = "b"

    metric {
      namespace   = local.namespaces[each.value.on]
      metric_name = each.value.metric_b
      dimensions  = local.dimensions[each.value.on] # A1
      period      = each.value.period
      stat        = each.value.statistic
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "anomaly" {
  for_each = local.anomaly_alarms

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = "${each.value.why} Severity: ${each.value.severity}. Runbook: ${var.runbook_base_url}/${each.value.runbook}"
  evaluation_periods  = each.value.periods
  comparison_operator = each.value.operator
  threshold_metric_id = "expected"
  treat_missing_data  = "notBreaching" # A2
  alarm_actions       = var.actions
  ok_actions          = var.actions

  metric_query {
    id          = "expected"
    expression  = "ANOMALY_DETECTION_BAND(actual, ${each.value.deviations})"
    label       = "expected"
    return_data = true
  }

  metric_query {
    id          = "actual"
    return_data = true

    metric {
      namespace   = local.namespaces[each.value.on]
      metric_name = each.value.metric
      dimensions  = local.dimensions[each.value.on] # A1
      period      = each.value.period
      stat        = each.value.statistic
    }
  }
}
