import { expect, test } from "vitest";
import { failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

const tagsOf = async (QueueUrl: string) => (await endpoint.sqs.listQueueTags({ QueueUrl })).Tags;

test("[38] tags may have no value, and differ by case", async () => {
  const QueueUrl = await endpoint.queue({}, { team: "ingest" });
  await endpoint.sqs.tagQueue({ QueueUrl, Tags: { Team: "other", empty: "", ünïcødé: "日本" } });
  const expected = { team: "ingest", Team: "other", empty: "", ünïcødé: "日本" };
  expect(await tagsOf(QueueUrl)).toEqual(expected);
  await endpoint.sqs.tagQueue({ QueueUrl, Tags: { team: "again" } });
  expect(await tagsOf(QueueUrl)).toEqual({ ...expected, team: "again" });
});

test("[38] taking off a tag that is not there is fine, and no tags are no Tags", async () => {
  const QueueUrl = await endpoint.queue({}, { a: "1", b: "2" });
  await endpoint.sqs.untagQueue({ QueueUrl, TagKeys: ["a", "A", "nowhere"] });
  expect(await tagsOf(QueueUrl)).toEqual({ b: "2" });
  await endpoint.sqs.untagQueue({ QueueUrl, TagKeys: ["b"] });
  expect((await endpoint.json("ListQueueTags", { QueueUrl })).body).toBe("{}");
});

test("a queue has at most fifty tags, and one too many adds none", async () => {
  const tags = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`key-${i}`, "x"]));
  const QueueUrl = await endpoint.queue({}, tags);
  const more = endpoint.sqs.tagQueue({ QueueUrl, Tags: { one: "more" } });
  expect((await failureOf(more)).code).toBe("InvalidParameterValue");
  await endpoint.sqs.tagQueue({ QueueUrl, Tags: { "key-0": "y" } });
  expect(await tagsOf(QueueUrl)).toEqual({ ...tags, "key-0": "y" });
});
