// Slow access: IAM's rules written a second time, by other means than core/access: patterns are
// regular expressions, and conditions are looked up in a table of whole sentences. It decides what
// the evaluator should have decided.

/** A statement of the random policies. */
export interface SlowStatement {
  readonly Effect: "Allow" | "Deny";
  readonly Principal?: unknown;
  readonly NotPrincipal?: unknown;
  readonly Action?: readonly string[];
  readonly NotAction?: readonly string[];
  readonly Resource?: readonly string[];
  readonly NotResource?: readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

export interface SlowQuestion {
  /** An ARN, a service, or null for an anonymous caller. */
  readonly who: string | null;
  readonly account: string;
  readonly owner: string;
  readonly identity: readonly SlowStatement[] | null;
  readonly resourcePolicy: readonly SlowStatement[];
  readonly action: string;
  readonly resource: string;
  readonly context: Readonly<Record<string, string | readonly string[]>>;
}

type Context = SlowQuestion["context"];

/** "denied" if a statement denies, otherwise whether the request is allowed. */
export function slowDecision(question: SlowQuestion): "allowed" | "denied" | "refused" {
  const { identity, resourcePolicy, who, account, owner } = question;
  const applies = (each: SlowStatement) => appliesTo(each, question);
  const named = resourcePolicy.filter((each) => names(each, question) !== "no");
  const denies = [...(identity ?? []), ...named].some(
    (each) => each.Effect === "Deny" && applies(each),
  );
  if (denies) return "denied";
  const ofCaller =
    identity === null || identity.some((each) => each.Effect === "Allow" && applies(each));
  const grants = named.filter((each) => each.Effect === "Allow" && applies(each));
  const direct = grants.some((each) => names(each, question) === "yes");
  if (who === null || !who.startsWith("arn:")) return grants.length > 0 ? "allowed" : "refused";
  if (account !== owner) return ofCaller && grants.length > 0 ? "allowed" : "refused";
  return ofCaller || direct ? "allowed" : "refused";
}

function names(statement: SlowStatement, question: SlowQuestion): "yes" | "account" | "no" {
  if (statement.NotPrincipal !== undefined) {
    const exempts = statement.Effect === "Deny" ? ["yes"] : ["yes", "account"];
    return exempts.includes(nameIn(statement.NotPrincipal, question)) ? "no" : "yes";
  }
  return nameIn(statement.Principal, question);
}

function nameIn(principal: unknown, { who, account }: SlowQuestion): "yes" | "account" | "no" {
  if (principal === "*") return "yes";
  const { AWS = [], Service = [] } = principal as Record<string, readonly string[] | undefined>;
  if (AWS.includes("*")) return "yes";
  if (who === null) return "no";
  if (!who.startsWith("arn:")) return Service.includes(who) ? "yes" : "no";
  const role = who.replace(
    /^arn:aws:sts::(\d+):assumed-role\/([^/]+)\/.*$/,
    "arn:aws:iam::$1:role/$2",
  );
  const pathless = AWS.map((each) => each.replace(/(?<=:role\/).*\//, ""));
  if (AWS.includes(who) || (role !== who && pathless.includes(role))) return "yes";
  const root = `arn:aws:iam::${account}:root`;
  if (!AWS.includes(account) && !AWS.includes(root)) return "no";
  return who === root ? "yes" : "account";
}

function appliesTo(statement: SlowStatement, { action, resource, context }: SlowQuestion): boolean {
  const { Action, NotAction, Resource, NotResource, Condition = {} } = statement;
  const isAction = (each: string) => regexOf(each, {}, "i")!.test(action);
  const isResource = (each: string) => regexOf(each, context, "")?.test(resource) === true;
  if (Action === undefined ? NotAction!.some(isAction) : !Action.some(isAction)) return false;
  if (Resource === undefined ? NotResource!.some(isResource) : !Resource.some(isResource)) {
    return false;
  }
  const outcomes = Object.entries(Condition).flatMap(([name, keys]) =>
    Object.entries(keys).map(([key, wanted]) =>
      condition(name, context[key.toLowerCase()], wanted, context),
    ),
  );
  if (outcomes.includes(false)) return false;
  return statement.Effect === "Deny" || !outcomes.includes(null);
}

/** Null if a variable has no value. */
function regexOf(pattern: string, context: Context, flags: string): RegExp | null {
  const pieces = pattern.split(/(\$\{[^}]*\}|\*|\?)/);
  let isMissing = false;
  const source = pieces.map((piece) => {
    if (piece === "*") return "[\\s\\S]*";
    if (piece === "?") return "[\\s\\S]";
    const name = /^\$\{(.*)\}$/.exec(piece)?.[1];
    const value =
      name === undefined
        ? piece
        : name === "*" || name === "?"
          ? name
          : context[name.toLowerCase()];
    if (typeof value !== "string") isMissing = true;
    return String(value).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  });
  return isMissing ? null : new RegExp(`^${source.join("")}$`, flags);
}

const NUMBERS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  Equals: (a, b) => a === b,
  LessThan: (a, b) => a < b,
  LessThanEquals: (a, b) => a <= b,
  GreaterThan: (a, b) => a > b,
  GreaterThanEquals: (a, b) => a >= b,
};

/** Whether one value meets one wanted value; null if the wanted value cannot be compared. */
function single(operator: string, value: string, wanted: string, context: Context): boolean | null {
  if (operator === "Bool") {
    return ["true", "false"].includes(wanted) ? value === wanted : null;
  }
  if (operator === "IpAddress") {
    const [base = "", bits = "32"] = wanted.split("/");
    if (!/^\d+(\.\d+){3}$/.test(base)) return null;
    const binary = (text: string) =>
      text
        .split(".")
        .map((part) => Number(part).toString(2).padStart(8, "0"))
        .join("");
    if (!/^\d+(\.\d+){3}$/.test(value)) return false;
    return binary(value).slice(0, Number(bits)) === binary(base).slice(0, Number(bits));
  }
  const number = /^Numeric(.*)$/.exec(operator)?.[1] ?? /^Date(.*)$/.exec(operator)?.[1];
  if (number !== undefined) {
    const isDate = operator.startsWith("Date");
    const read = (text: string) =>
      isDate && text.includes("-") ? Date.parse(text) / 1_000 : Number(text);
    if (Number.isNaN(read(wanted))) return null;
    return !Number.isNaN(read(value)) && NUMBERS[number]!(read(value), read(wanted));
  }
  if (operator.startsWith("Arn")) {
    if (wanted === "*") return true;
    if (wanted.split(":").length < 6) return null;
    const regex = regexOf(wanted, context, "")?.source.replaceAll("[\\s\\S]", "[^:]");
    return regex === undefined ? null : new RegExp(regex).test(value);
  }
  const escaped =
    operator === "StringLike" ? wanted : wanted.replace(/(?<!\$\{)[*?](?!\})/g, `\${$&}`);
  const flags = operator === "StringEqualsIgnoreCase" ? "i" : "";
  return regexOf(escaped, context, flags)?.test(value) ?? null;
}

function condition(
  name: string,
  given: string | readonly string[] | undefined,
  wanted: readonly string[],
  context: Context,
): boolean | null {
  if (name === "Null") return wanted.includes(given === undefined ? "true" : "false");
  const ifExists = name.endsWith("IfExists");
  const set = /^For(All|Any)Values?:/.exec(name)?.[1];
  const bare = name.replace(/^For(All|Any)Values?:/, "").replace(/IfExists$/, "");
  const isNegated = bare.includes("Not");
  const values = given === undefined ? [] : typeof given === "string" ? [given] : given;
  if (values.length === 0) return ifExists || set === "All" || (isNegated && set === undefined);
  const outcomes = values.map((value) => {
    const each = wanted.map((item) => single(bare.replace("Not", ""), value, item, context));
    if (each.includes(true)) return !isNegated;
    return each.includes(null) ? null : isNegated;
  });
  if (outcomes.includes(null)) return null;
  return set === "All" || (set === undefined && isNegated)
    ? !outcomes.includes(false)
    : outcomes.includes(true);
}
