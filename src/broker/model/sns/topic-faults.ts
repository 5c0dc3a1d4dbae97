// TopicFaults: refusals that more than one operation on topics gives, in AWS's words.

import { refuse } from "../fault.ts";

export function missingTopic() {
  return refuse("NotFound", "Topic does not exist");
}

export function missingSubscription() {
  return refuse("NotFound", "Subscription does not exist");
}

export function invalidTopicParameter(reason: string) {
  return refuse("InvalidParameter", `Invalid parameter: ${reason}`);
}
