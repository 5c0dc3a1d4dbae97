// Foreign pages: no credentials are checked, so a web page must not be able to call. A browser says
// where a request comes from, and one that comes from elsewhere is refused.

import type { HttpHead } from "../../../ports/http.ts";

/** Whether a browser sent this on behalf of a page that is not ours. */
export function isForeignPage(request: Pick<HttpHead, "headers">): boolean {
  const from = request.headers["sec-fetch-site"];
  return from !== undefined && from !== "same-origin" && from !== "none";
}
