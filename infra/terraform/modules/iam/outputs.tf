output "consumer_role_arn" {
  description = "ARN of the role of the consumer."
  value       = aws_iam_role.consumer.arn
}

output "consumer_role_name" {
  description = "Name of the role of the consumer."
  value       = aws_iam_role.consumer.name
}

output "producer_role_arn" {
  description = "ARN of the role of the producer."
  value       = aws_iam_role.producer.arn
}

output "operator_role_arn" {
  description = "ARN of the role of the operator."
  value       = aws_iam_role.operator.arn
}
