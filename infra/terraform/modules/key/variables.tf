variable "name" {
  description = "Name of the pipeline; the alias of the key is alias/NAME."
  type        = string
}

variable "topic_name" {
  description = "Name of the topic that sends to encrypted queues; null if there is none."
  type        = string
  default     = null
}

variable "from_bucket" {
  description = "Whether S3 sends events to an encrypted topic or queue."
  type        = bool
  default     = false
}
