// Link-local endpoints: what a cloud machine's metadata service answers must not reach a topic.

import { expect, test } from "vitest";
import { createHttpClient } from "../../../src/platform/http/node-http-client.ts";

const signal = new AbortController().signal;
const postTo = (url: string) => ({ url, headers: {}, body: "x", timeoutMs: 200 });

test.each([
  "http://169.254.169.254/latest/meta-data",
  "http://2852039166/",
  "http://[::ffff:169.254.169.254]/",
  "http://[fe80::1]/",
  "http://[fd00:ec2::254]/",
])("a delivery to %s is refused by default, and only attempted if allowed", async (url) => {
  const refused = createHttpClient().post(postTo(url) as never, signal);
  await expect(refused).rejects.toMatchObject({ code: "ERR_LINK_LOCAL" });
  const allowed = createHttpClient({ allowLinkLocal: true }).post(postTo(url) as never, signal);
  const outcome = await allowed.catch((error: { code?: string }) => error.code);
  expect(outcome).not.toBe("ERR_LINK_LOCAL");
});
