variable "name" {
  description = "What the names of the roles start with."
  type        = string
}

variable "queue_arn" {
  description = "ARN of the queue."
  type        = string
}

variable "dead_letter_queue_arn" {
  description = "ARN of the dead-letter queue."
  type        = string
}

variable "late_queue_name" {
  description = "Name of the queue of records that are too late, in the account and region of the queue; null if there is none."
  type        = string
  default     = null
}

variable "archived_messages" {
  description = "Bucket and prefix of archived messages, as bucket/prefix; null if there are none."
  type        = string
  default     = null
}

variable "topic_arn" {
  description = "ARN of the topic; null if there is none."
  type        = string
  default     = null
}

variable "target_queue_arn" {
  description = "ARN of the queue that producers send to; null if they send elsewhere."
  type        = string
  default     = null
}

variable "target_topic_arn" {
  description = "ARN of the topic that producers publish to; null if they send elsewhere."
  type        = string
  default     = null
}

variable "bucket_arn" {
  description = "ARN of the bucket that the pipeline reads; null if it reads messages."
  type        = string
  default     = null
}

variable "prefix" {
  description = "Prefix of the objects that the pipeline reads."
  type        = string
  default     = ""
}

variable "backfill" {
  description = "Whether the consumer may list the bucket, for `tidegate backfill`."
  type        = bool
  default     = false
}

variable "claim_check_bucket_arn" {
  description = "ARN of the bucket for payloads that are larger than a message; null if there is none."
  type        = string
  default     = null
}

variable "ledger_table_arn" {
  description = "ARN of the DynamoDB ledger; null for PostgreSQL."
  type        = string
  default     = null
}

variable "ledger_list_index_arns" {
  description = "ARNs of the list indexes of the ledger; empty if it does not list records."
  type        = list(string)
  default     = []
}

variable "outbox_table_arn" {
  description = "ARN of the DynamoDB outbox; null if there is none."
  type        = string
  default     = null
}

variable "cluster_arn" {
  description = "ARN of the ECS cluster in which the consumer starts tasks; null if it starts none."
  type        = string
  default     = null
}

variable "task_family" {
  description = "Family of the task definition that the consumer starts."
  type        = string
  default     = ""
}

variable "task_role_arns" {
  description = "ARNs of the roles that the consumer passes to its tasks."
  type        = list(string)
  default     = []
}

variable "task_results_arn" {
  description = "ARN of a bucket with a prefix, below which tasks write results; null if they write none."
  type        = string
  default     = null
}

variable "outputs" {
  description = "Places in which the consumer writes objects: bucket, or bucket/prefix."
  type        = list(string)
  default     = []
}

variable "key_arn" {
  description = "ARN of the customer key; null if there is none."
  type        = string
  default     = null
}

variable "consumer_services" {
  description = "AWS services that run the consumer."
  type        = list(string)
  default     = ["ecs-tasks.amazonaws.com"]
}

variable "producer_principals" {
  description = "ARNs that may take on the role of the producer; empty for everyone in the account whom IAM allows to."
  type        = list(string)
  default     = []
}

variable "operator_principals" {
  description = "ARNs that may take on the role of the operator; empty for everyone in the account whom IAM allows to."
  type        = list(string)
  default     = []
}
