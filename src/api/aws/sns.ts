// `tidegate/aws/sns`: topics of SNS.

export { createSnsTopic, type SnsTopicOptions } from "../../aws/sns/sns-topic.ts";
