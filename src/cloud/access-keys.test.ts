import { expect, test } from "vitest";
import { TidegateError } from "../core/errors.ts";
import { readAccessKeys } from "./access-keys.ts";

const KEY = { accessKeyId: "AKID", secretAccessKey: "the secret", account: "000000000000" };
const without = (name: keyof typeof KEY) => {
  const { [name]: _, ...rest } = KEY;
  return { keys: [rest] };
};

test("a key is its account's root user, unless it names a user or a role", () => {
  const role = "arn:aws:iam::000000000000:role/reader";
  const keys = readAccessKeys({
    keys: [KEY, { ...KEY, accessKeyId: "B", principal: role, policies: [] }],
  });
  expect(keys.get("AKID")?.caller.arn).toBe("arn:aws:iam::000000000000:root");
  expect(keys.get("B")?.caller).toMatchObject({ arn: role, account: "000000000000" });
});

test.each([
  ["nothing", null, 'auth: expected an object with a list "keys"'],
  ["no key", { keys: [] }, 'auth: "keys" is empty, so every request would be refused'],
  ["another field", { keys: [KEY], key: 1 }, 'auth: unknown field "key"; expected "keys"'],
  ["a missing id", without("accessKeyId"), 'auth: keys[0]: the field "accessKeyId" is missing'],
  [
    "a missing secret",
    without("secretAccessKey"),
    'auth: keys[0]: the field "secretAccessKey" is missing',
  ],
  ["a missing account", without("account"), 'auth: keys[0]: the field "account" is missing'],
  [
    "a short account",
    { keys: [{ ...KEY, account: "12" }] },
    'auth: keys[0]: account "12" is not 12 digits',
  ],
  [
    "a misspelt field",
    { keys: [{ ...KEY, sesionToken: "t" }] },
    /^auth: keys\[0\]: unknown field "sesionToken"; expected /,
  ],
  [
    "a principal of another account",
    { keys: [{ ...KEY, principal: "arn:aws:iam::111111111111:role/r" }] },
    /^auth: keys\[0\]: principal ".+" is not a user or role such as /,
  ],
  [
    "a role without policies",
    { keys: [{ ...KEY, principal: "arn:aws:iam::000000000000:role/r" }] },
    /^auth: keys\[0\]: the field "policies" is missing/,
  ],
  [
    "a policy that does not parse",
    { keys: [{ ...KEY, policies: ["{"] }] },
    "auth: keys[0]: policies[0]: is not valid JSON",
  ],
  [
    "a policy without statements",
    { keys: [{ ...KEY, policies: [{ Version: "2012-10-17" }] }] },
    "auth: keys[0]: policies[0]: the Statement is missing",
  ],
  [
    "a misspelt operator",
    {
      keys: [
        {
          ...KEY,
          policies: [
            {
              Statement: {
                Effect: "Allow",
                Action: "*",
                Resource: "*",
                Condition: { StringEqual: { "aws:username": "a" } },
              },
            },
          ],
        },
      ],
    },
    'auth: keys[0]: policies[0]: Statement[0]: unknown condition operator "StringEqual"',
  ],
  ["one id twice", { keys: [KEY, KEY] }, 'auth: keys[1]: the accessKeyId "AKID" is there twice'],
  ["a number", { keys: [{ ...KEY, secretAccessKey: 7 }] }, /"secretAccessKey" is not a text$/],
])("%s is refused with one sentence, which has no secret", (_, value, message) => {
  let error: unknown;
  try {
    readAccessKeys(value);
  } catch (reason) {
    error = reason;
  }
  expect(error).toBeInstanceOf(TidegateError);
  expect((error as Error).message).toMatch(message);
  expect((error as Error).message).not.toContain(KEY.secretAccessKey);
});
