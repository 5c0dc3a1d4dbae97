output "names" {
  description = "Names of all alarms."
  value = [
    for name in concat(
      keys(aws_cloudwatch_metric_alarm.threshold),
      keys(aws_cloudwatch_metric_alarm.formula),
      keys(aws_cloudwatch_metric_alarm.anomaly),
    ) : "${var.name}-${name}"
  ]
}
