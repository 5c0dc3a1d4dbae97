variable "name" {
  description = "Name of the topic; it ends with .fifo if the topic is FIFO."
  type        = string
}

variable "fifo" {
  description = "Whether the topic is FIFO. S3 cannot publish to a FIFO topic."
  type        = bool
  default     = false
}

variable "bucket_arn" {
  description = "ARN of the bucket that may publish its events; null if producers publish."
  type        = string
  default     = null
}

variable "queue_arn" {
  description = "ARN of the queue that receives the messages."
  type        = string
}

variable "dead_letter_queue_arn" {
  description = "ARN of the queue for messages that SNS cannot deliver."
  type        = string
}

variable "key_arn" {
  description = "ARN of the KMS key that encrypts messages; null for none. S3 cannot publish with the key alias/aws/sns."
  type        = string
  default     = null
}
