// Host guard: keeps web pages away from an endpoint that, without keys, checks no credentials.
//   G1. A page can reach a loopback address under a name of its choice: the name resolves to
//       127.0.0.1, or changes its address after the page was loaded (DNS rebinding). Some addresses
//       reach it too: 0.0.0.0, or 127.0.0.1 mapped to IPv6. Browsers send no Sec-Fetch-Site to any
//       of these. So a server bound to loopback answers only to local names, for which browsers
//       send it, and to names that were allowed explicitly.
//   G2. A name below amazonaws.com reaches it where DNS redirects clients of AWS, and a page can
//       use that name. Only a request with a signature header is answered (S1 of signature.ts).
//   G3. A request with an Origin comes from a page. The page must have been served by this very
//       host, or a bucket's CORS rules must allow it; GET requests count, since some have side
//       effects.
//   G4. Requests without a Host header come from no browser and pass.

import type { HttpHandler, HttpReply, HttpRequest } from "../../../ports/http/http.ts";
import { hasSignatureHeader } from "./signature.ts";

export interface HostGuardOptions {
  /** Whether the server is bound to a loopback address (G1). */
  readonly loopback: boolean;
  /** Further names and addresses to answer to; a name includes all names below it. */
  readonly allowedHosts: readonly string[];
  /** Whether a page of another site may send the request (G3). Default: never. */
  readonly allowsOrigin?: (request: HttpRequest) => Promise<boolean>;
}

/** Answers 403 to requests that a foreign web page may have sent, and passes on all others. */
export function guardHosts(handler: HttpHandler, options: HostGuardOptions): HttpHandler {
  const allowed = options.allowedHosts.map((name) => name.toLowerCase());
  let lastAccepted: string | undefined;
  return (request) => {
    const { host, origin } = request.headers;
    if (origin === undefined && (host === lastAccepted || host === undefined)) {
      return handler(request); // G4
    }
    const name = nameOf(host ?? "");
    const isOpen = !options.loopback || isLocal(name) || isAllowed(name, allowed); // G1
    if (!isOpen && !(isAwsName(name) && hasSignatureHeader(request))) {
      return Promise.resolve(forbidden(refusalOf(name))); // G2
    }
    if (origin !== undefined && originHost(origin) !== (host ?? "").toLowerCase()) {
      return answerForeign(handler, options, request, origin);
    }
    if (isOpen) lastAccepted = host;
    return handler(request);
  };
}

/** Whether the Host header names loopback: browsers send Sec-Fetch-Site to these names. */
export function isLocalHost(host: string): boolean {
  return isLocal(nameOf(host));
}

async function answerForeign(
  handler: HttpHandler,
  { allowsOrigin }: HostGuardOptions,
  request: HttpRequest,
  origin: string,
): Promise<HttpReply> {
  if (allowsOrigin !== undefined && (await allowsOrigin(request))) return handler(request);
  return forbidden(
    `Origin "${origin}" is not this server; web pages of other sites may not call it`, // G3
  );
}

/** "Localhost:4566" -> "localhost", "[::1]:4566" -> "[::1]". */
function nameOf(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase().replace(/\.$/, "");
}

function originHost(origin: string): string | null {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase() ?? null;
}

/** 127.0.0.0/8 as four decimal numbers: browsers write every other form of it like this. */
const LOOPBACK = /^127(?:\.(?:0|[1-9]\d?|1\d\d|2[0-4]\d|25[0-5])){3}$/;

function isLocal(name: string): boolean {
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  return LOOPBACK.test(name) || name === "[::1]";
}

function isAwsName(name: string): boolean {
  return name === "amazonaws.com" || name.endsWith(".amazonaws.com");
}

function isAllowed(name: string, allowed: readonly string[]): boolean {
  return allowed.some((each) => {
    return name === each || (/[^\d.]/.test(each) && name.endsWith(`.${each}`));
  });
}

function refusalOf(name: string): string {
  if (!/^(?:[a-z\d_][a-z\d._-]*|\[[\da-f:.]+\])$/.test(name)) {
    return `Host "${name}" is not a host name; use localhost, or a name of --allow-host`;
  }
  const need = isAwsName(name)
    ? "belongs to AWS, and only requests with a signature in the Authorization header may use it"
    : "is not a local name";
  return `Host "${name}" ${need}; allow it with --allow-host ${name}`;
}

function forbidden(reason: string): HttpReply {
  const body = JSON.stringify({ __type: "AccessDenied", message: reason });
  return { status: 403, headers: ["content-type", "application/json"], body };
}
