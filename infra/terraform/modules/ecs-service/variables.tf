variable "name" {
  description = "Name of the service and what other names start with."
  type        = string
}

variable "image" {
  description = "Image of the consumer, by digest: docs/guides/container.md has the Dockerfile."
  type        = string
}

variable "cluster_arn" {
  description = "ARN of the ECS cluster."
  type        = string
}

variable "subnet_ids" {
  description = "Subnets of the tasks. They need a route to SQS, S3, DynamoDB and CloudWatch Logs: a NAT gateway or VPC endpoints."
  type        = list(string)
}

variable "security_group_ids" {
  description = "Security groups of the tasks. They need to send only."
  type        = list(string)
}

variable "consumer_role_arn" {
  description = "ARN of the role of the consumer."
  type        = string
}

variable "environment" {
  description = "Environment variables of the consumer."
  type        = map(string)
}

variable "secrets" {
  description = "Environment variables from Secrets Manager or the parameter store: name to ARN."
  type        = map(string)
  default     = {}
}

variable "desired_count" {
  description = "Tasks that run at the same time."
  type        = number
  default     = 2
}

variable "cpu" {
  description = "CPU units of a task."
  type        = number
  default     = 512
}

variable "memory" {
  description = "Memory of a task in MiB."
  type        = number
  default     = 1024
}

variable "key_arn" {
  description = "ARN of the KMS key that encrypts logs; null for a key of CloudWatch Logs."
  type        = string
  default     = null
}
