variable "name" {
  description = "Name of the table."
  type        = string
}

variable "key_arn" {
  description = "ARN of the KMS key that encrypts the table; null for a key that DynamoDB owns."
  type        = string
  default     = null
}

variable "listing" {
  description = "Whether the table has the indexes that lists of records need; every write then costs more."
  type        = bool
  default     = false
}
