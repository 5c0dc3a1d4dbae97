variable "name" {
  description = "Name of the queue; it ends with .fifo if the queue is FIFO."
  type        = string
}

variable "dead_letter_queue_name" {
  description = "Name of the dead-letter queue, which has the same type."
  type        = string
}

variable "fifo" {
  description = "Whether both queues are FIFO."
  type        = bool
  default     = false
}

variable "source_service" {
  description = "The service that sends to the queue: sns.amazonaws.com, s3.amazonaws.com, or null if only producers do."
  type        = string
  default     = null
}

variable "source_arn" {
  description = "ARN of the topic or bucket that may send; null if only producers do."
  type        = string
  default     = null
}

variable "visibility_timeout_seconds" {
  description = "How long a received message stays hidden without a heartbeat."
  type        = number
}

variable "max_receive_count" {
  description = "Receives after which SQS itself moves a message. It is a back-stop for messages that crash every consumer, so it is well above the attempts of the pipeline."
  type        = number
}

variable "retention_seconds" {
  description = "How long the queue keeps a message. The default is 4 days."
  type        = number
  default     = 345600
}

variable "dead_letter_retention_seconds" {
  description = "How long the dead-letter queue keeps a message. The default is 14 days, the longest of SQS."
  type        = number
  default     = 1209600
}

variable "key_arn" {
  description = "ARN of the KMS key that encrypts messages; null for SSE-SQS. The key alias/aws/sqs does not work: S3 and SNS may not use it."
  type        = string
  default     = null
}
