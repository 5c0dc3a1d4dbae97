// Access: who may call the console.
//   A1. A server that listens on more than loopback requires a token: without one, the console is
//       off.
//   A2. With a token, every call of the API needs it: in the Authorization header, or as the cookie
//       that the one-time link or a login sets. The page's own files are public.
//   A3. The one-time link works once, within LINK_MS. Its code is not the token, so a link in a
//       browser's history opens nothing.
//   A4. A cookie is out of reach for scripts and is not sent with requests of other sites. It is
//       forgotten with the process.
//   A5. Secrets are compared as hashes, so the time of a comparison says nothing about them.

import { sha256Hex } from "../../core/encoding/hash.ts";
import { type DurationMs, minutes } from "../../core/units.ts";
import type { HttpRequest } from "../../operate/cloud/embedded-cloud.ts";
import type { Clock, Random } from "../../operate/sources.ts";
import { refuseRequest } from "./console-reply.ts";

export interface AccessOptions {
  /** Whether other machines can reach the server (A1). */
  readonly exposed: boolean;
  /** Null: everybody on this machine may call it. */
  readonly token: string | null;
}

export interface Access {
  /** Throws a refusal if the request may not call the API. */
  check(request: HttpRequest): void;
  /** Throws a refusal if the console is off (A1). */
  checkOpen(): void;
  /** The code of a new one-time link; null without a token (A3). */
  createCode(): string | null;
  /** Uses up a code and returns the header that sets the cookie; null if it is not valid. */
  useCode(code: string): string | null;
  /** The header that sets the cookie; null if the token is wrong. */
  login(token: string): string | null;
}

const COOKIE = "tidegate_console";
const SECRET_BYTES = 32;
const SESSIONS_MAX = 100;
const LINK_MS: DurationMs = minutes(10);

export function createAccess(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  { exposed, token }: AccessOptions,
): Access {
  const wanted = token === null ? null : sha256Hex(token); // A5
  const sessions = new Set<string>();
  const codes = new Map<string, number>();
  const secret = () => Buffer.from(random.bytes(SECRET_BYTES)).toString("base64url");

  function openSession(): string {
    const id = secret();
    const [oldest] = sessions;
    if (sessions.size >= SESSIONS_MAX && oldest !== undefined) sessions.delete(oldest);
    sessions.add(sha256Hex(id));
    return `${COOKIE}=${id}; Path=/_tidegate; HttpOnly; SameSite=Strict`; // A4
  }

  function checkOpen(): void {
    if (!exposed || wanted !== null) return;
    refuseRequest(
      403,
      "ConsoleOff",
      "the console is off, because this server listens on more than loopback; " +
        "start it with --console-token, or with TIDEGATE_CONSOLE_TOKEN set",
    ); // A1
  }

  return {
    checkOpen,
    check(request) {
      checkOpen();
      if (wanted === null) return;
      const { authorization = "", cookie = "" } = request.headers;
      const bearer = /^Bearer (.+)$/i.exec(authorization)?.[1];
      if (bearer !== undefined && sha256Hex(bearer) === wanted) return; // A2
      const id = new RegExp(`(?:^|;\\s*)${COOKIE}=([^;]+)`).exec(cookie)?.[1];
      if (id !== undefined && sessions.has(sha256Hex(id))) return;
      refuseRequest(
        401,
        "TokenNeeded",
        "this console needs its token; sign in with it, or open the link that the server printed",
      );
    },
    createCode() {
      if (wanted === null) return null;
      const code = secret();
      codes.set(sha256Hex(code), clock.monotonic() + LINK_MS);
      return code;
    },
    useCode(code) {
      const id = sha256Hex(code);
      const until = codes.get(id);
      codes.delete(id); // A3
      return until !== undefined && clock.monotonic() < until ? openSession() : null;
    },
    login(given) {
      return wanted !== null && sha256Hex(given) === wanted ? openSession() : null;
    },
  };
}
