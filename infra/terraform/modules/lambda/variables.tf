variable "function_name" {
  description = "Name or ARN of the function that runs the pipeline. Its timeout is at most a sixth of the queue's visibility timeout."
  type        = string
}

variable "consumer_role_name" {
  description = "Name of the role of the consumer, which the function runs with."
  type        = string
}

variable "queue_arn" {
  description = "ARN of the queue."
  type        = string
}

variable "batch_size" {
  description = "Messages per invocation: up to 10 for a FIFO queue."
  type        = number
  default     = 10
}

variable "maximum_concurrency" {
  description = "Invocations at the same time: 2 to 1000."
  type        = number
  default     = 10
}
