// What `tidegate/aws/sns` exports: names only.

export { createSnsTopic, type SnsTopicOptions } from "./sns-topic.ts";
