// Sensitive names: fields whose name says that their value must not be stored or sent in the clear.

const WORDS = new Set([
  "password",
  "passwd",
  "secret",
  "ssn",
  "iban",
  "passport",
  "pin",
  "cvv",
  "cvc",
  "apikey",
]);
const PAIRS = [
  /social_?security/,
  /credit_?card/,
  /card_?number/,
  /account_?number/,
  /tax_?id/,
  /date_?of_?birth/,
  /birth_?date/,
  /api_?key/,
  /access_?token/,
  /private_?key/,
];

/** Whether a field of that name is sensitive: `ssn`, `cardNumber`, `user_password`. */
export function isSensitive(name: string): boolean {
  const snake = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  if (snake.split(/[_\W]+/).some((word) => WORDS.has(word))) return true;
  return PAIRS.some((pair) => pair.test(snake));
}
