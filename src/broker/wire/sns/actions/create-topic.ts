// CreateTopic: creates a topic, or returns the existing one if the request does not differ from it.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { entries, structureShape, textShape } from "../../protocol/shape.ts";
import { absent, topicArnOf } from "../sns-request.ts";
import { readTags, tagList } from "../sns-tags.ts";

export const createTopic = action({
  name: "CreateTopic",
  input: structureShape({ Name: textShape, Attributes: entries("key", textShape), Tags: tagList }),
  output: structureShape({ TopicArn: textShape }),
  async run(call, input) {
    const name = input.Name;
    if (name === undefined || name === null) return absent("name");
    const read = readTags(input.Tags);
    if (!read.ok) return read;
    const create = { name, attributes: { ...input.Attributes }, tags: { ...read.value } };
    const outcome = await call.server.broker.submit("createTopic", create, call.request.signal);
    return outcome.ok ? succeed({ TopicArn: topicArnOf(call, outcome.value.name) }) : outcome;
  },
});
