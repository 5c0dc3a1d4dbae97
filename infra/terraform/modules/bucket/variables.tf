variable "name" {
  description = "Name of the bucket."
  type        = string
}

variable "key_arn" {
  description = "ARN of the KMS key that encrypts objects; null for keys that S3 manages."
  type        = string
  default     = null
}

variable "noncurrent_days" {
  description = "Days after which replaced versions are deleted. A message names a version, so keep them longer than a message can wait in the queue and the dead-letter queue."
  type        = number
  default     = 60
}
