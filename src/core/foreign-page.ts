// Foreign pages: a local server must not answer the pages of other web sites. Browsers send the
// origin of a request; cross-site requests are refused.

/** Whether a browser sent this request for a page of another origin. */
export function isForeignPage(request: {
  readonly headers: Readonly<Record<string, string | undefined>>;
}): boolean {
  const from = request.headers["sec-fetch-site"];
  return from !== undefined && from !== "same-origin" && from !== "none";
}
