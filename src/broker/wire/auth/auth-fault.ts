// Auth fault: why a request has no caller. Each service says it in its own words.
//   F1. A fault carries what the client sent, and never a secret or a token.

export type ScopePart = "credential" | "date" | "region" | "service" | "terminator";

export type AuthFault =
  | { readonly kind: "anonymous" }
  /** Another mechanism than version 4, or more than one at once. */
  | { readonly kind: "mechanism" }
  | { readonly kind: "several" }
  /** The names of the missing parts of the signature, as the header or the query has them. */
  | { readonly kind: "incomplete"; readonly missing: readonly string[]; readonly query: boolean }
  | { readonly kind: "incomplete-v2"; readonly missing: readonly string[] }
  | {
      readonly kind: "scope";
      readonly part: ScopePart;
      readonly given: string;
      readonly expected: string;
      readonly query: boolean;
    }
  | { readonly kind: "unknown-key"; readonly accessKeyId: string }
  | { readonly kind: "token" }
  | { readonly kind: "no-date" }
  | { readonly kind: "no-content-hash" }
  /** Signed too long ago, or in the future. Times as in X-Amz-Date. */
  | { readonly kind: "skew"; readonly signed: string; readonly now: string; readonly late: boolean }
  | { readonly kind: "not-signed"; readonly headers: readonly string[] }
  | {
      readonly kind: "mismatch";
      readonly accessKeyId: string;
      readonly stringToSign: string;
      readonly signature: string;
    };

/** Signatures are valid for this long before and after their date. */
export const SKEW_MS_MAX = 900_000;
