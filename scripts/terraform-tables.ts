// Terraform tables: writes the files of infra/terraform that come from tables in the code. Run it
// after a change of the IAM or the alarm table; a test fails if a file is not current.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { alarmModuleFile } from "../src/infra/alarm-module.ts";
import { iamModuleFile } from "../src/infra/iam-module.ts";

/** Path in the repository, and its text. */
export const TABLE_FILES: Readonly<Record<string, () => string>> = {
  "infra/terraform/modules/iam/policies.tf": iamModuleFile,
  "infra/terraform/modules/alarms/table.tf": alarmModuleFile,
};

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  for (const [path, text] of Object.entries(TABLE_FILES)) writeFileSync(join(root, path), text());
}
