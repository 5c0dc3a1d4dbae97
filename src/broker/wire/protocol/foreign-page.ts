// Foreign pages: requests are not authenticated, so web pages must not be able to call the server.
// Browsers send the origin of a request; cross-site requests are refused.

import type { HttpHead } from "../../../ports/http.ts";

/** Whether a browser sent this request for a page of another origin. */
export function isForeignPage(request: Pick<HttpHead, "headers">): boolean {
  const from = request.headers["sec-fetch-site"];
  return from !== undefined && from !== "same-origin" && from !== "none";
}
