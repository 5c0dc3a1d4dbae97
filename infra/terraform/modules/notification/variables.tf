variable "bucket" {
  description = "Name of the bucket. A bucket has one notification configuration: this module replaces any other."
  type        = string
}

variable "prefix" {
  description = "Prefix of the keys whose events are sent; empty for all keys."
  type        = string
  default     = ""
}

variable "to_topic" {
  description = "Whether the target is a topic; otherwise it is a queue."
  type        = bool
}

variable "target_arn" {
  description = "ARN of the standard topic or the standard queue. S3 cannot notify FIFO ones."
  type        = string

  validation {
    condition     = !endswith(var.target_arn, ".fifo")
    error_message = "S3 cannot notify a FIFO topic or queue."
  }
}
