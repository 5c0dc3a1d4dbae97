import { expect, test } from "vitest";
import { failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

const tagsOf = async (QueueUrl: string) => (await endpoint.sqs.listQueueTags({ QueueUrl })).Tags;

test("[38] tags may be empty and are case-sensitive", async () => {
  const QueueUrl = await endpoint.queue({}, { team: "ingest" });
  await endpoint.sqs.tagQueue({ QueueUrl, Tags: { Team: "other", empty: "", ünïcødé: "日本" } });
  const expected = { team: "ingest", Team: "other", empty: "", ünïcødé: "日本" };
  expect(await tagsOf(QueueUrl)).toEqual(expected);
  await endpoint.sqs.tagQueue({ QueueUrl, Tags: { team: "again" } });
  expect(await tagsOf(QueueUrl)).toEqual({ ...expected, team: "again" });
});

test("[38] removing a missing tag succeeds, and without tags the field is absent", async () => {
  const QueueUrl = await endpoint.queue({}, { a: "1", b: "2" });
  await endpoint.sqs.untagQueue({ QueueUrl, TagKeys: ["a", "A", "nowhere"] });
  expect(await tagsOf(QueueUrl)).toEqual({ b: "2" });
  await endpoint.sqs.untagQueue({ QueueUrl, TagKeys: ["b"] });
  expect((await endpoint.json("ListQueueTags", { QueueUrl })).body).toBe("{}");
});

test("a queue has at most 50 tags, and a request that exceeds the limit adds none", async () => {
  const tags = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`key-${i}`, "x"]));
  const QueueUrl = await endpoint.queue({}, tags);
  const more = endpoint.sqs.tagQueue({ QueueUrl, Tags: { one: "more" } });
  expect((await failureOf(more)).code).toBe("InvalidParameterValue");
  await endpoint.sqs.tagQueue({ QueueUrl, Tags: { "key-0": "y" } });
  expect(await tagsOf(QueueUrl)).toEqual({ ...tags, "key-0": "y" });
});
