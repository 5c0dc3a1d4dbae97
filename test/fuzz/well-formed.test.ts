// The judge of the fuzz campaign on trial.

import { describe, expect, test } from "vitest";
import { replyFault, xmlFault } from "./well-formed.ts";

describe("XML is refused when", () => {
  test.each([
    ["a tag is left open", "<a><b></b>"],
    ["tags cross", "<a><b></a></b>"],
    ["an ampersand stands alone", "<a>R&D</a>"],
    ["a control character is inside", "<a>\u0001</a>"],
    ["there are two roots", "<a/><b/>"],
    ["there is none", ""],
    ["text follows the root", "<a/>x"],
    ["an attribute is not quoted", "<a b=c/>"],
  ])("%s", (_what, text) => {
    expect(xmlFault(text)).not.toBeNull();
  });
});

test("XML as the query protocol writes it is accepted", () => {
  const text = '<?xml version="1.0"?>\n<R xmlns="http://x/"><A>1 &lt; 2&#xD;</A><B/></R>';
  expect(xmlFault(text)).toBeNull();
});

describe("an answer is refused when", () => {
  const json = { "content-type": "application/x-amz-json-1.0" };
  const told = { ...json, "x-amzn-query-error": "InvalidAction;Sender" };
  test.each([
    ["it is a failure of ours", { status: 500, headers: told, body: '{"__type":"a#b"}' }],
    ["its JSON is cut", { status: 200, headers: json, body: '{"a":' }],
    ["a refusal has no body", { status: 400, headers: told, body: "" }],
    ["a refusal has no type", { status: 400, headers: told, body: "{}" }],
    ["the legacy code is missing", { status: 400, headers: json, body: '{"__type":"a#b"}' }],
    ["its content type is unknown", { status: 200, headers: {}, body: "hello" }],
    ["XML names no code", { status: 400, headers: { "content-type": "text/xml" }, body: "<a/>" }],
  ])("%s", (_what, reply) => {
    expect(replyFault(reply, "POST")).not.toBeNull();
  });
});
