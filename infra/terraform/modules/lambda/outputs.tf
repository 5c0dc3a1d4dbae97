output "mapping_id" {
  description = "Id of the event source mapping."
  value       = aws_lambda_event_source_mapping.this.uuid
}
