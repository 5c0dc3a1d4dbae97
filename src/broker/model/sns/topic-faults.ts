// TopicFaults: refusals that several operations on topics share, in AWS's words.

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
