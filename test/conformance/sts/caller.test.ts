// STS: tools ask for their identity before they do anything else.

import { expect, test } from "vitest";
import { useAwsCli } from "../../support/aws-cli.ts";
import { ACCOUNT, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();
const { call } = useAwsCli(endpoint);

test("the AWS CLI learns its account, and it is the account of every queue", async () => {
  const identity = await call("sts", "get-caller-identity", {});
  expect(identity).toEqual({
    UserId: expect.stringMatching(/^AIDA[A-Z0-9]{17}$/),
    Account: ACCOUNT,
    Arn: `arn:aws:iam::${ACCOUNT}:user/tidegate`,
  });
});

test("another action of STS is refused in STS's own form", async () => {
  const body = new URLSearchParams({ Action: "AssumeRole", Version: "2011-06-15" });
  const reply = await fetch(endpoint.url, { method: "POST", body });
  const text = await reply.text();
  expect(reply.status).toBe(400);
  expect(text).toContain("https://sts.amazonaws.com/doc/2011-06-15/");
  expect(text).toContain("<Code>InvalidAction</Code>");
});
