// The actions of STS: the one that tools call before anything else, to see whose credentials they
// have. Without keys to check signatures against, every caller is the one user of the account.

import { succeed } from "../../../core/result.ts";
import { type Action, action } from "../protocol/call.ts";
import { structureShape, textShape } from "../protocol/shape.ts";

const getCallerIdentity = action({
  name: "GetCallerIdentity",
  input: structureShape({}),
  output: structureShape({ UserId: textShape, Account: textShape, Arn: textShape }),
  run({ caller }) {
    return succeed({ UserId: caller.userId, Account: caller.account, Arn: caller.arn });
  },
});

export const STS_ACTIONS: readonly Action[] = [getCallerIdentity];
