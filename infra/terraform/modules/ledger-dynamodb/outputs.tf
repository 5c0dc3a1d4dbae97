output "name" {
  description = "Name of the table, for --ledger dynamodb://NAME."
  value       = aws_dynamodb_table.this.name
}

output "arn" {
  description = "ARN of the table."
  value       = aws_dynamodb_table.this.arn
}

output "list_index_arns" {
  description = "ARNs of the indexes of listed records; empty without listing."
  value       = [for name in keys(local.lists) : "${aws_dynamodb_table.this.arn}/index/${name}"]
}
