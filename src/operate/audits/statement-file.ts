// Statement file: a statement on disk, and its signature.
//   F1. A signature is Ed25519 over the digest of the statement, which covers all of it.
//   F2. A signed statement that an audit continues is never trusted without its key: its days that
//       the ledger has forgotten become part of the new statement.
//       A signed statement never continues one that is not signed: the signature would vouch for
//       days that anyone could have written.
//   F3. A file is written beside its target and renamed, so that a reader never sees half of one.
//   F4. A statement whose signature was removed looks like one that was never signed. So it is
//       refused where a signature is expected: with a key, and after a signed statement.

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { createReadStream, readFileSync, renameSync, writeFileSync } from "node:fs";
import { STATEMENT_SCHEMA, type Statement, statementProblem } from "../../audit/statement.ts";
import { type LinesResult, StatementLines } from "../../audit/statement-lines.ts";
import { refuseConfig, refuseValue, TidegateError } from "../../core/errors.ts";

const UNSIGNED_FIX = "audit its window again and sign that, or leave this one unsigned";

/** Reads a statement; throws TG_VALUE_INVALID if it is none, or was edited. */
export function readStatement(path: string): Statement {
  const statement = parse(path, read(path));
  const problem = problemOf(path, statement) ?? signatureProblem(statement);
  if (problem !== null) refuseValue(`${path} was edited: ${problem}`);
  return statement;
}

function problemOf(path: string, statement: Statement): string | null {
  try {
    return statementProblem(statement);
  } catch {
    return notAStatement(path); // A field that all statements have is missing or of another type.
  }
}

/** The digest does not cover the signature, so its form is checked here (F4). */
function signatureProblem({ signature }: Partial<Statement>): string | null {
  if (signature === null) return null;
  if (signature === undefined) return "its signature was removed";
  const { algorithm, keyId, value } = signature;
  const isWhole = typeof keyId === "string" && typeof value === "string";
  return algorithm === "ed25519" && isWhole ? null : "its signature is not one of Ed25519";
}

/** Its signature may have been removed (F4). */
function refuseUnsigned(path: string, { signature, previous }: Statement): void {
  if (signature !== null || previous === null || previous.keyId === null) return;
  refuseValue(`${path} is not signed, but the statement that it continues is; sign it`);
}

async function verifyLines(
  path: string,
  statement: Statement,
  linesPath: string,
): Promise<Extract<LinesResult, { kind: "same" }>> {
  const lines = new StatementLines(statement);
  try {
    let rest = "";
    for await (const chunk of createReadStream(linesPath, "utf8")) {
      const texts = `${rest}${chunk}`.split("\n");
      rest = texts.pop() ?? "";
      for (const text of texts) lines.add(text);
    }
    if (rest !== "")
      refuseValue(`${linesPath} does not match ${path}: its last line is not complete`);
  } catch (error) {
    throw error instanceof TidegateError ? error : unread(linesPath, error);
  }
  const result = lines.end();
  if (result.kind === "same") return result;
  return refuseValue(`${linesPath} does not match ${path}: ${result.problem}`);
}

/** What a statement has to match. */
export interface StatementProof {
  /** PEM file of the public key that must have signed it. */
  readonly publicKey?: string | undefined;
  /** The file of its lines. */
  readonly lines?: string | undefined;
}

/** A statement that matches, and how many of its lines were compared; null without a file. */
export interface CheckedStatement {
  readonly statement: Statement;
  readonly lines: Extract<LinesResult, { kind: "same" }> | null;
}

/** Reads a statement and checks it as `tidegate audit verify` does; throws TG_VALUE_INVALID. */
export async function checkStatement(
  path: string,
  { publicKey, lines }: StatementProof = {},
): Promise<CheckedStatement> {
  const statement = readStatement(path);
  if (publicKey !== undefined) verifyStatement(path, statement, publicKey);
  refuseUnsigned(path, statement);
  return {
    statement,
    lines: lines === undefined ? null : await verifyLines(path, statement, lines),
  };
}

/** The keys that may check the signature of an earlier statement. */
export interface EarlierKeys {
  /** PEM file of the public key; the statement must be signed with it. */
  readonly publicKey?: string | undefined;
  /** The key that signs the new statement, which may have signed the earlier one. */
  readonly signingKey?: KeyObject | null;
}

/**
 * Reads the statement that an audit continues, and checks its signature if it has one. If the new
 * statement will be signed, it must have one (F2).
 */
export function readEarlierStatement(path: string, keys: EarlierKeys): Statement {
  const statement = readStatement(path);
  const { publicKey, signingKey = null } = keys;
  if (publicKey !== undefined) {
    verifyStatement(path, statement, publicKey);
  } else if (statement.signature !== null) {
    const fix = "name its public key";
    if (signingKey === null) refuseValue(`${path} is signed, and no key can check it; ${fix}`);
    const key = createPublicKey(signingKey);
    if (statement.signature.keyId !== keyIdOf(key)) {
      refuseValue(`${path} was signed with another key than the signing key; ${fix}`);
    }
    checkSignature(path, statement, key);
  } else if (signingKey !== null) {
    refuseValue(`${path} is not signed, so a signed statement cannot continue it; ${UNSIGNED_FIX}`);
  }
  return statement;
}

function parse(path: string, text: string): Statement {
  try {
    const value = JSON.parse(text) as Statement;
    if (value?.schema === STATEMENT_SCHEMA) {
      if (Array.isArray(value.quarantined?.segments)) return value;
      const lacks = "which did not say where rows are in quarantine; audit its window again";
      return refuseValue(`${path} was written by an earlier release, ${lacks}`);
    }
  } catch (error) {
    if (error instanceof TidegateError) throw error;
  }
  return notAStatement(path);
}

function notAStatement(path: string): never {
  return refuseValue(`${path} is not an audit statement; write one with audit`);
}

/** F3 */
export function writeStatement(path: string, statement: Statement): void {
  const temporary = `${path}.part`;
  try {
    writeFileSync(temporary, `${JSON.stringify(statement, null, 2)}\n`);
    renameSync(temporary, path);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new TidegateError("TG_CONFIG_INVALID", `cannot write ${path}: ${reason}`, {
      cause: error,
    });
  }
}

/** The private key of a PEM file; throws TG_CONFIG_INVALID if it is not Ed25519. */
export function readSigningKey(path: string): KeyObject {
  return checkedKey(path, "private", () => createPrivateKey(read(path)));
}

/** The statement with a signature over its digest (F1); refused if it continues an unsigned one. */
export function signStatement(statement: Statement, key: KeyObject): Statement {
  if (statement.previous?.keyId === null) {
    refuseValue(
      `the statement continues one that is not signed, so it is not signed; ${UNSIGNED_FIX}`,
    );
  }
  const value = sign(null, Buffer.from(statement.digest), key).toString("base64"); // F1
  const signature = { algorithm: "ed25519", keyId: keyIdOf(createPublicKey(key)), value } as const;
  return { ...statement, signature };
}

/** Throws TG_VALUE_INVALID unless the key in the PEM file signed this very statement. */
export function verifyStatement(path: string, statement: Statement, keyPath: string): void {
  const key = checkedKey(keyPath, "public", () => createPublicKey(read(keyPath)));
  checkSignature(path, statement, key);
}

function checkSignature(path: string, { signature, digest }: Statement, key: KeyObject): void {
  if (signature === null) refuseValue(`${path} is not signed; sign it`);
  if (signature.keyId !== keyIdOf(key)) refuseValue(`${path} was signed with another key`);
  const isValid = verify(null, Buffer.from(digest), key, Buffer.from(signature.value, "base64"));
  if (!isValid) refuseValue(`the signature of ${path} does not match its content`);
}

function checkedKey(path: string, kind: "private" | "public", load: () => KeyObject): KeyObject {
  let key: KeyObject | null = null;
  try {
    key = load();
  } catch (error) {
    if (error instanceof TidegateError) throw error;
  }
  if (key?.asymmetricKeyType === "ed25519") return key;
  const fix =
    kind === "private" ? "openssl genpkey -algorithm ed25519" : "openssl pkey -in KEY -pubout";
  const message = `${path} is not an Ed25519 ${kind} key in PEM form; create one with ${fix}`;
  refuseConfig(message);
}

function keyIdOf(key: KeyObject): string {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("hex");
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw unread(path, error);
  }
}

function unread(path: string, cause: unknown): TidegateError {
  const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
  return new TidegateError("TG_CONFIG_INVALID", `cannot read ${path}: ${reason}`, { cause });
}
