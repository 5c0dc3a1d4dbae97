// Words: prints the findings of the plain-words rule: `node scripts/words.ts [prefix ...]`.
import { checkPlainCode, checkPlainText } from "../test/tidy/plain-words.ts";
import { isCode, parse, readRepository } from "../test/tidy/source-file.ts";

const prefixes = process.argv.slice(2);
let count = 0;
for (const file of readRepository(`${import.meta.dirname}/..`)) {
  if (prefixes.length > 0 && !prefixes.some((prefix) => file.path.startsWith(prefix))) continue;
  const violations = isCode(file.path)
    ? checkPlainCode(parse(file.path, file.text))
    : checkPlainText(file);
  for (const { path, line, message } of violations) console.log(`${path}:${line} ${message}`);
  count += violations.length;
}
console.log(`${count} findings`);
