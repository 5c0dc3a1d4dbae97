// Link-local endpoints on the command line: the flag reaches the deliveries of topics. A module
// that is loaded before the command prints each attempt that failed.

import { expect, test } from "vitest";
import { useCommands } from "../../support/command-process.ts";
import { eventually } from "../../support/eventually.ts";

const REPORT = `
  import { subscribe } from "node:diagnostics_channel";
  subscribe("http.client.request.start", ({ request }) => {
    request.once("error", () => console.error("attempted " + request.host));
  });
`;
const IMPORT = `data:text/javascript,${encodeURIComponent(REPORT)}`;
/** Cannot be connected to without naming an interface, so the attempt ends immediately. */
const LINK_LOCAL = "http://[fe80::1]:1/";
/** Where no one listens. */
const LOOPBACK = "http://127.0.0.1:1/";

const commands = useCommands("link-local");

/** What the command prints until it has tried to deliver to `last`. */
async function attempts(last: string, ...flags: string[]): Promise<string> {
  const words = ["up", "--json", "--memory", "--port", "0", ...flags];
  const { printed, child } = commands.start(words, { NODE_OPTIONS: `--import ${IMPORT}` });
  const { endpoint } = await eventually(() => JSON.parse(printed.out) as { endpoint: string });
  const post = async (form: Record<string, string>) => {
    const body = new URLSearchParams({ Version: "2010-03-31", ...form });
    const reply = await fetch(endpoint, { method: "POST", body });
    expect([reply.status, await reply.text()]).toEqual([200, expect.any(String)]);
  };
  await post({ Action: "CreateTopic", Name: "t" });
  const TopicArn = "arn:aws:sns:us-east-1:000000000000:t";
  for (const Endpoint of [LINK_LOCAL, LOOPBACK]) {
    await post({ Action: "Subscribe", TopicArn, Protocol: "http", Endpoint });
  }
  await eventually(() => expect(printed.err).toContain(`attempted ${last}`));
  child.kill();
  return printed.err;
}

test("a topic does not deliver to link-local addresses", async () => {
  expect(await attempts("127.0.0.1")).not.toContain("fe80");
});

test("--allow-link-local lets a topic deliver to link-local addresses", async () => {
  expect(await attempts("fe80::1", "--allow-link-local")).toContain("fe80::1");
});
