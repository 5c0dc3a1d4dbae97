// `tidegate/aws/sns`: topics of SNS.

export { createSnsTopic, type SnsTopicOptions } from "../../aws/sns/sns-topic.ts";
export type { TopicPublisher } from "../../ports/topic.ts";
