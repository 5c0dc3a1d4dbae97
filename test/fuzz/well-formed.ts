// Well-formed: checks that every reply must pass, whatever the request.
//   N1. The status is one that AWS uses and never a server error: the store is healthy here.
//   N2. The body is valid JSON or well-nested XML, according to the content type.
//   N3. A refusal has a code and a message; the JSON protocol also has the legacy code in a header.

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const STATUSES = [200, 400, 403, 404, 405, 413, 415];

/** Returns what is wrong with XML, or null. It only supports the syntax that the broker writes. */
export function xmlFault(text: string): string | null {
  const source = text.replace(/^<\?xml [^?]*\?>\s*/, "");
  const open: string[] = [];
  let roots = 0;
  let rest = source;
  while (rest !== "") {
    const tag = /^<(\/?)([A-Za-z_][\w.-]*)((?:\s+[\w:.-]+="[^"<]*")*)\s*(\/?)>/.exec(rest);
    const chars = /^(?:[^<>&]|&(?:amp|lt|gt|quot|apos|#x?[0-9A-Fa-f]+);)+/.exec(rest);
    if (tag !== null) {
      const [whole, closing, name, , empty] = tag;
      if (closing === "/") {
        if (open.pop() !== name) return `</${name}> closes nothing`;
      } else {
        if (open.length === 0) roots += 1;
        if (empty !== "/") open.push(name as string);
      }
      rest = rest.slice(whole.length);
    } else if (chars !== null) {
      if (open.length === 0 && chars[0].trim() !== "") return "text outside the root element";
      const illegal = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.exec(chars[0]);
      if (illegal !== null) return `character ${illegal[0].codePointAt(0)} is not allowed in XML`;
      rest = rest.slice(chars[0].length);
    } else {
      return `unexpected ${JSON.stringify(rest.slice(0, 40))}`;
    }
  }
  if (open.length > 0) return `<${open.at(-1)}> is not closed`;
  return roots === 1 ? null : `${roots} roots`;
}

function jsonFault(reply: Reply): string | null {
  let value: unknown;
  try {
    value = JSON.parse(reply.body);
  } catch {
    return "the body is not JSON";
  }
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? null
    : "the body is not a JSON object";
}

/** N3 for the JSON protocol. */
function jsonRefusalFault(reply: Reply): string | null {
  const { __type, message } = JSON.parse(reply.body) as Record<string, unknown>;
  if (typeof __type !== "string" || !__type.includes("#")) return "no __type";
  if (message !== undefined && typeof message !== "string") return "the message is not a string";
  const code = reply.headers["x-amzn-query-error"] ?? "";
  return /^[\w.]+;(Sender|Receiver)$/.test(code) ? null : `x-amzn-query-error is "${code}"`;
}

/** Returns what is wrong with the reply, or null. */
export function replyFault(reply: Reply, method: string): string | null {
  if (!STATUSES.includes(reply.status)) return `status ${reply.status}`; // N1
  const type = reply.headers["content-type"] ?? "";
  const refused = reply.status >= 400;
  if (reply.body === "") {
    return refused && method !== "HEAD" ? "a refusal without a body" : null;
  }
  if (type.startsWith("application/x-amz-json-1.0")) {
    return jsonFault(reply) ?? (refused ? jsonRefusalFault(reply) : null);
  }
  if (type.startsWith("application/json")) return jsonFault(reply);
  if (type.startsWith("text/xml") || type.startsWith("application/xml")) {
    const fault = xmlFault(reply.body); // N2
    if (fault !== null) return `${fault} in ${reply.body.slice(0, 200)}`;
    if (!refused) return null;
    const named = /<Code>[\w.]+<\/Code>|<UnknownOperationException\/>/.test(reply.body);
    return named ? null : "a refusal without a code";
  }
  return `content type "${type}"`;
}
