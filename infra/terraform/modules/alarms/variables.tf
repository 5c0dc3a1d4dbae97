variable "name" {
  description = "What the names of the alarms start with."
  type        = string
}

variable "queue_name" {
  description = "Name of the queue."
  type        = string
}

variable "dead_letter_queue_name" {
  description = "Name of the dead-letter queue."
  type        = string
}

variable "topic_name" {
  description = "Name of the topic; null if there is none."
  type        = string
  default     = null
}

variable "actions" {
  description = "ARNs to notify, such as an SNS topic. Without one, an alarm is only visible in CloudWatch."
  type        = list(string)
  default     = []
}

variable "thresholds" {
  description = "Other thresholds, by the name of the alarm."
  type        = map(number)
  default     = {}
}

variable "runbook_base_url" {
  description = "Where the runbooks of Tidegate (docs/runbooks) are published for your team."
  type        = string
  default     = "docs/runbooks"
}
