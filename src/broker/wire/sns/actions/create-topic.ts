// CreateTopic: a new topic, or the one there is if nothing asked for differs.

import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { entries, structure, text } from "../../protocol/shape.ts";
import { absent, topicArn } from "../sns-request.ts";
import { readTags, tagList } from "../sns-tags.ts";

export const createTopic = action({
  name: "CreateTopic",
  input: structure({ Name: text, Attributes: entries("key", text), Tags: tagList }),
  output: structure({ TopicArn: text }),
  async run(call, input) {
    const name = input.Name;
    if (name === undefined || name === null) return absent("name");
    const read = readTags(input.Tags);
    if (!("tags" in read)) return read;
    const create = { name, attributes: { ...input.Attributes }, tags: { ...read.tags } };
    const outcome = await call.site.broker.submit("createTopic", create, call.request.signal);
    return outcome.ok ? done({ TopicArn: topicArn(call, outcome.value.name) }) : outcome;
  },
});
