import { expect, test } from "vitest";
import { epochMs } from "../core/units.ts";
import type { HttpRequest } from "../ports/http/http.ts";
import { createCloudMetrics } from "./cloud-metrics.ts";

const EMPTY = { queues: [], topics: [] };

function requestOf(target: string): HttpRequest {
  return {
    method: "POST",
    path: "/",
    query: "",
    headers: { "x-amz-target": target },
    body: new Uint8Array(),
    bodyTooLarge: false,
    requestId: "id",
    signal: new AbortController().signal,
    remoteAddress: "",
  };
}

test("requests are counted under their own action, however many targets came before (K3)", async () => {
  const metrics = createCloudMetrics({ now: () => epochMs(0) });
  const handler = metrics.counted(async () => ({ status: 200, headers: [], body: "" }));
  for (let number = 0; number < 300; number += 1) await handler(requestOf(`Odd${number}.x y`));
  for (let time = 0; time < 2; time += 1) {
    await handler(requestOf("AmazonSQS.SendMessage"));
    await handler(requestOf("AmazonSQS.DeleteMessage"));
  }
  const { text } = metrics.page(EMPTY, undefined);
  const lines = text.split("\n").filter((line) => line.startsWith("tidegate_cloud_requests_total"));
  expect(lines).toEqual([
    'tidegate_cloud_requests_total{service="other",action="other",status="200"} 300',
    'tidegate_cloud_requests_total{service="sqs",action="SendMessage",status="200"} 2',
    'tidegate_cloud_requests_total{service="sqs",action="DeleteMessage",status="200"} 2',
  ]);
});
