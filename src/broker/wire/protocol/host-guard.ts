// Host guard: keeps web pages away from an endpoint that checks no credentials.
//   G1. A page can reach a loopback address under a name of its choice: the name resolves to
//       127.0.0.1, or changes its address after the page was loaded (DNS rebinding). Browsers send
//       no Sec-Fetch-Site to such plain-http names. So a server bound to loopback answers only to
//       names that a foreign page cannot have: loopback names, IP addresses, *.localhost, AWS's own
//       virtual-host names, and names that were allowed explicitly.
//   G2. A request with an Origin comes from a page. The page must have been served by this very
//       host, or a bucket's CORS rules must allow it; GET requests count, since some have side
//       effects.
//   G3. Requests without a Host header come from no browser and pass.

import type { HttpHandler, HttpReply, HttpRequest } from "../../../ports/http/http.ts";

export interface HostGuardOptions {
  /** Whether the server is bound to a loopback address (G1). */
  readonly loopback: boolean;
  /** Further names to answer to, each with all names below it. */
  readonly allowedHosts: readonly string[];
  /** Whether a page of another site may send the request (G2). Default: never. */
  readonly allowsOrigin?: (request: HttpRequest) => Promise<boolean>;
}

/** Answers 403 to requests that a foreign web page may have sent, and passes on all others. */
export function guardHosts(handler: HttpHandler, options: HostGuardOptions): HttpHandler {
  const allowed = options.allowedHosts.map((name) => name.toLowerCase());
  let lastAccepted: string | undefined;
  return (request) => {
    const { host, origin } = request.headers;
    if (origin === undefined && (host === lastAccepted || host === undefined)) {
      return handler(request); // G3
    }
    const reason = hostRefusal(host ?? "", options.loopback, allowed);
    if (reason !== null) return Promise.resolve(forbidden(reason));
    if (origin !== undefined && originHost(origin) !== (host ?? "").toLowerCase()) {
      return answerForeign(handler, options, request, origin);
    }
    lastAccepted = host;
    return handler(request);
  };
}

function hostRefusal(host: string, loopback: boolean, allowed: readonly string[]): string | null {
  const name = hostName(host);
  if (!loopback || isLocalName(name) || isAllowed(name, allowed)) return null;
  return `Host "${name}" is not a local name; allow it with --allow-host ${name}`; // G1
}

async function answerForeign(
  handler: HttpHandler,
  { allowsOrigin }: HostGuardOptions,
  request: HttpRequest,
  origin: string,
): Promise<HttpReply> {
  if (allowsOrigin !== undefined && (await allowsOrigin(request))) return handler(request);
  return forbidden(
    `Origin "${origin}" is not this server; web pages of other sites may not call it`, // G2
  );
}

/** "Localhost:4566" -> "localhost", "[::1]:4566" -> "[::1]". */
function hostName(host: string): string {
  return host.replace(/:\d+$/, "").toLowerCase().replace(/\.$/, "");
}

function originHost(origin: string): string | null {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase() ?? null;
}

function isLocalName(name: string): boolean {
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  if (/^\d+\.\d+\.\d+\.\d+$/.test(name) || /^\[[\da-f:.]+\]$/.test(name)) return true;
  return name === "amazonaws.com" || name.endsWith(".amazonaws.com");
}

function isAllowed(name: string, allowed: readonly string[]): boolean {
  return allowed.some((each) => name === each || name.endsWith(`.${each}`));
}

function forbidden(reason: string): HttpReply {
  const body = JSON.stringify({ __type: "AccessDenied", message: reason });
  return { status: 403, headers: ["content-type", "application/json"], body };
}
