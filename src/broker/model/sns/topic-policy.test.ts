import { expect, test } from "vitest";
import { ModelBench } from "../../../../test/support/broker/model-bench.ts";
import { SNS_POLICY_BYTES_MAX, SNS_POLICY_STATEMENTS_MAX } from "../../../core/limits.ts";

const ACCOUNTS = ["111111111111"];

function createBench(Policy?: string): ModelBench {
  const bench = new ModelBench();
  bench.ok("createTopic", { name: "t", attributes: Policy ? { Policy } : {}, tags: {} });
  return bench;
}

function grant(label: string, accounts = ACCOUNTS) {
  return { topic: "t", label, accounts, actions: ["Publish"] };
}

function setPolicy(value: string) {
  return { topic: "t", name: "Policy", value };
}

function policyOf(bench: ModelBench): string {
  return bench.ok("getTopicAttributes", { topic: "t" }).attributes.Policy as string;
}

test.each(["[null]", '[null, "text", 5]', '"text"', "null"])(
  "permissions can be added to and removed from a policy whose statements are %s",
  (statements) => {
    const bench = createBench(`{"Version":"2012-10-17","Statement":${statements}}`);
    bench.ok("addTopicPermission", grant("mine"));
    expect(policyOf(bench)).toContain('"Sid":"mine"');
    bench.ok("removeTopicPermission", { topic: "t", label: "mine" });
    expect(policyOf(bench)).not.toContain("mine");
  },
);

test("a policy over AWS's limits of length or statements is rejected, set or extended (L1)", () => {
  const bench = createBench();
  const padded = (bytes: number) => `{"Statement":[],"Id":"${"x".repeat(bytes - 24)}"}`;
  expect(padded(SNS_POLICY_BYTES_MAX)).toHaveLength(SNS_POLICY_BYTES_MAX);
  expect(bench.fault("setTopicAttribute", setPolicy(padded(SNS_POLICY_BYTES_MAX + 1)))).toEqual({
    name: "InvalidParameter",
    message: "Invalid parameter: Policy Error: longer than 30720 bytes",
  });
  bench.ok("setTopicAttribute", setPolicy(padded(SNS_POLICY_BYTES_MAX)));
  expect(bench.fault("addTopicPermission", grant("one")).name).toBe("InvalidParameter");
  bench.ok("setTopicAttribute", setPolicy('{"Statement":[],"Id":"i"}'));
  for (let added = 0; added < SNS_POLICY_STATEMENTS_MAX; added += 1) {
    bench.ok("addTopicPermission", grant(`${added}`));
  }
  expect(bench.fault("addTopicPermission", grant("more")).message).toContain("100 are allowed");
  const statements = Array.from({ length: SNS_POLICY_STATEMENTS_MAX + 1 }, () => ({}));
  const long = JSON.stringify({ Statement: statements });
  expect(bench.fault("setTopicAttribute", setPolicy(long)).name).toBe("InvalidParameter");
});

test("a policy that is nested too deeply is rejected (L2)", () => {
  const deep = `{"Statement":[${"[".repeat(10_000)}${"]".repeat(10_000)}]}`;
  const { message } = createBench().fault("setTopicAttribute", setPolicy(deep));
  expect(message).toBe("Invalid parameter: Policy Error: null");
});
