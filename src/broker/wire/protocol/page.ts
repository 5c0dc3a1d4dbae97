// Pages: MaxResults and NextToken, shared by the list actions.

import { SQS_LIST_PAGE_MAX } from "../../../core/limits.ts";
import type { PageInput } from "../../model/operations.ts";
import type { RefusedAction } from "./call.ts";
import { checkRange } from "./parameters.ts";

export function checkPage(limit: number | null | undefined): RefusedAction | null {
  return checkRange(
    limit,
    "MaxResults",
    1,
    SQS_LIST_PAGE_MAX,
    `MaxResults must be an integer between 1 and ${SQS_LIST_PAGE_MAX}.`,
  );
}

/** Returns null if neither a limit nor a token was given; then the response is not paged. */
export function page(
  limit: number | null | undefined,
  token: string | null | undefined,
): PageInput | null {
  const limited = limit !== undefined && limit !== null;
  if (!limited && !token) return null;
  return { limit: limit ?? SQS_LIST_PAGE_MAX, token: token || null };
}
