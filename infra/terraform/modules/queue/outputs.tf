output "url" {
  description = "URL of the queue."
  value       = aws_sqs_queue.this.id
}

output "arn" {
  description = "ARN of the queue."
  value       = aws_sqs_queue.this.arn
}

output "name" {
  description = "Name of the queue."
  value       = aws_sqs_queue.this.name
}

output "dead_letter_queue_url" {
  description = "URL of the dead-letter queue."
  value       = aws_sqs_queue.dead_letters.id
}

output "dead_letter_queue_arn" {
  description = "ARN of the dead-letter queue."
  value       = aws_sqs_queue.dead_letters.arn
}

output "dead_letter_queue_name" {
  description = "Name of the dead-letter queue."
  value       = aws_sqs_queue.dead_letters.name
}
