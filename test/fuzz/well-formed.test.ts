// Tests of the checks that the fuzz campaign uses.

import { describe, expect, test } from "vitest";
import { replyFault, xmlFault } from "./well-formed.ts";

describe("XML is rejected if", () => {
  test.each([
    ["a tag is not closed", "<a><b></b>"],
    ["tags overlap", "<a><b></a></b>"],
    ["an ampersand is not escaped", "<a>R&D</a>"],
    ["it contains a control character", "<a>\u0001</a>"],
    ["it has two roots", "<a/><b/>"],
    ["it is empty", ""],
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

describe("a reply is rejected if", () => {
  const json = { "content-type": "application/x-amz-json-1.0" };
  const errorHeaders = { ...json, "x-amzn-query-error": "InvalidAction;Sender" };
  test.each([
    [
      "its status is a server error",
      { status: 500, headers: errorHeaders, body: '{"__type":"a#b"}' },
    ],
    ["its JSON is truncated", { status: 200, headers: json, body: '{"a":' }],
    ["a refusal has no body", { status: 400, headers: errorHeaders, body: "" }],
    ["a refusal has no type", { status: 400, headers: errorHeaders, body: "{}" }],
    ["the legacy code is missing", { status: 400, headers: json, body: '{"__type":"a#b"}' }],
    ["its content type is unknown", { status: 200, headers: {}, body: "hello" }],
    ["XML names no code", { status: 400, headers: { "content-type": "text/xml" }, body: "<a/>" }],
  ])("%s", (_what, reply) => {
    expect(replyFault(reply, "POST")).not.toBeNull();
  });
});
