// Boolean attributes: AWS accepts "true" and "false" in any case and returns them in lower case.
// Clients send other cases: Python's str(True) is "True".

/** The attributes with the booleans among them in lower case; other values stay as they are. */
export function lowerBooleans(
  attributes: Readonly<Record<string, string>>,
  names: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  const isOther = (name: string, value: string) => names.has(name) && value !== lowerBoolean(value);
  if (!Object.entries(attributes).some(([name, value]) => isOther(name, value))) return attributes;
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      names.has(name) ? lowerBoolean(value) : value,
    ]),
  );
}

/** "True" -> "true"; any text that is not a boolean stays as it is. */
export function lowerBoolean(value: string): string {
  return /^(true|false)$/i.test(value) ? value.toLowerCase() : value;
}
