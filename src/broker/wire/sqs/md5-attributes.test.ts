import { expect, test } from "vitest";
import { md5OfAttributes } from "./md5-attributes.ts";

const string = (value: string, type = "String") => ({ type, value });
const color = string("blue");

test.each([
  ["one string", { color }, "da1b33cc3cbfe8b1630921e78e6b9880"],
  [
    "a string, a number and bytes, in any order",
    {
      count: string("3", "Number"),
      color,
      blob: { type: "Binary", value: Buffer.from([1, 2, 3]).toString("base64") },
    },
    "d838729972a4b70e2d2acd9d59ac847c",
  ],
  [
    "a custom type, with its suffix",
    { color, tags: string('["a","b"]', "String.Array") },
    "56a5bee3ed610a27fd04b2b195aee70b",
  ],
  [
    "a number",
    { timestamp: string("1493147359900", "Number") },
    "235c5c510d26fb653d073faed50ae77c",
  ],
  [
    "bytes that are not text",
    {
      attr1: {
        type: "Binary",
        value: Buffer.from(
          "traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01",
        ).toString("base64"),
      },
    },
    "8cbe4db156db8a94db8b801b7addb984",
  ],
  [
    "the trace header, as a system attribute",
    {
      AWSTraceHeader: string(
        "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1",
      ),
    },
    "5ae4d5d7636402d80f4eb6d213245a88",
  ],
  [
    "names with a common prefix",
    { Hello: string("There"), General: string("Kenobi"), "Help.Me": string("Me") },
    "4c360f3fdafd970e05fae2f149d997f5",
  ],
])("the checksum of attributes equals the one observed on AWS: %s", (_, attributes, digest) => {
  expect(md5OfAttributes(attributes as Parameters<typeof md5OfAttributes>[0])).toBe(digest);
});
