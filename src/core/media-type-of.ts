// Media type: what a request says about its body. Names of media types ignore case (RFC 9110).

/** "Application/JSON; charset=utf-8" -> "application/json"; empty without a header. */
export function mediaTypeOf(headers: Readonly<Record<string, string | undefined>>): string {
  const value = headers["content-type"] ?? "";
  const end = value.indexOf(";");
  return (end === -1 ? value : value.slice(0, end)).trim().toLowerCase();
}
