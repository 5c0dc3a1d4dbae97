// Powertools' tracer around the Lambda handler: a listener on UDP stands for the X-Ray daemon.
//   T1. The X-Ray SDK reads its variables when it is imported, so they are set before that.

import { createSocket } from "node:dgram";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import type { LambdaContext } from "../../../src/adapters/lambda/lambda-handler.ts";
import { lambdaHandler } from "../../../src/adapters/lambda/open-lambda.ts";
import { createCloudQueue, startCloud } from "../../../src/api/cloud.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { devSetup } from "../../../src/run/dev/dev-setup.ts";
import { startEventSourceMapping } from "../../../src/testkit/lambda/start-event-source-mapping.ts";
import { sendTestMessage } from "../../../src/testkit/test-message.ts";
import { eventually } from "../../support/eventually.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const TRACE = "1-5f9d6a5b-0123456789abcdef01234567";
const folder = useTemporaryFolder("lambda-tracer");

interface Segment {
  readonly name: string;
  readonly trace_id: string;
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const segments: Segment[] = [];
const daemon = createSocket("udp4");
daemon.on("message", (packet) => {
  const [, segment = "{}"] = packet.toString().split("\n"); // A header, then the segment.
  segments.push(JSON.parse(segment));
});
await new Promise<void>((resolve) => daemon.bind(0, "127.0.0.1", resolve));
afterAll(() => daemon.close());

Object.assign(process.env, {
  AWS_EXECUTION_ENV: "AWS_Lambda_nodejs22.x",
  AWS_XRAY_CONTEXT_MISSING: "IGNORE_ERROR",
  AWS_XRAY_DAEMON_ADDRESS: `127.0.0.1:${(daemon.address() as AddressInfo).port}`,
  LAMBDA_TASK_ROOT: folder,
  POWERTOOLS_TRACE_ENABLED: "true",
  _X_AMZN_TRACE_ID: `Root=${TRACE};Parent=0123456789abcdef;Sampled=1`,
});
const { Tracer } = await import("@aws-lambda-powertools/tracer"); // T1

test("the tracer records each invocation, its answer and the handler's annotations", async () => {
  const tracer = new Tracer({ serviceName: "numbers" });
  const numbers = pipeline({
    name: "numbers",
    source: { queue: "numbers" },
    retry: { attempts: 2, baseMs: 10, capMs: 20 },
    sink: () => undefined,
    handler({ payload }, { attempt }) {
      tracer.putAnnotation("number", (payload as { readonly n: number }).n);
      if (attempt === 1) throw new Error("the first attempt fails");
    },
  });
  const setup = devSetup(numbers as never);
  await using cloud = await startCloud({ memory: true, clock: "virtual", setup });
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const settings = { endpoint: cloud.endpoint, ledger: `sqlite:${folder}/ledger.db` };
  const inner = lambdaHandler(numbers as never, { ...settings, logger: quiet });
  const traced = async (event: unknown, context: LambdaContext) => {
    const facade = tracer.getSegment();
    const own = facade?.addNewSubsegment("## index.handler");
    if (own !== undefined) tracer.setSegment(own);
    try {
      const answer = await inner(event, context);
      tracer.addResponseAsMetadata(answer, "index.handler");
      return answer;
    } finally {
      own?.close();
      if (facade !== undefined) tracer.setSegment(facade);
    }
  };
  await sendTestMessage(
    createCloudQueue(cloud, { queue: "numbers" }),
    { payload: { n: 7 }, group: "g", dedupeKey: "7" },
    cloud.clock.now(),
  );
  // One at a time, as in one environment of Lambda: the tracer has one current segment.
  const options = { queue: "numbers", concurrency: 1 };
  await using mapping = await startEventSourceMapping(cloud, traced as never, options);
  await mapping.idle();
  await inner.close();
  const own = () => segments.filter(({ name }) => name === "## index.handler");
  await eventually(() => expect(own()).toHaveLength(2));
  expect(own().map(({ trace_id: trace }) => trace)).toEqual([TRACE, TRACE]);
  expect(own().map(({ annotations }) => annotations?.number)).toEqual([7, 7]);
  const answers = own().map(({ metadata }) => metadata?.numbers?.["index.handler response"]);
  expect(answers).toEqual([
    { batchItemFailures: [{ itemIdentifier: expect.any(String) }] },
    { batchItemFailures: [] },
  ]);
});
