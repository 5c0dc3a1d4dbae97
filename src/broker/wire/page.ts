// Pages: MaxResults and NextToken, as the listing actions share them.

import type { PageInput } from "../model/operations.ts";
import type { Refusal } from "./call.ts";
import { checkRange } from "./parameters.ts";

export const PAGE_MAX = 1_000;

export function checkPage(limit: number | null | undefined): Refusal | null {
  return checkRange(
    limit,
    "MaxResults",
    1,
    PAGE_MAX,
    `MaxResults must be an integer between 1 and ${PAGE_MAX}.`,
  );
}

/** Null when neither a limit nor a token was given: then the answer is not paged. */
export function page(
  limit: number | null | undefined,
  token: string | null | undefined,
): PageInput | null {
  const asked = limit !== undefined && limit !== null;
  if (!asked && !token) return null;
  return { limit: limit ?? PAGE_MAX, token: token || null };
}
