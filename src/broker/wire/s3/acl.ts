// ACL: the only access control list, which grants the owner full control.

import type { HttpReply } from "../../../ports/http/http.ts";
import { canonicalId, ownerElement } from "./owner.ts";
import type { S3Call } from "./s3-call.ts";
import { element, textElement, xmlReply } from "./xml-output.ts";

const SCHEMA = "http://www.w3.org/2001/XMLSchema-instance";

export function writeAcl(call: S3Call): HttpReply {
  const grantee =
    `<Grantee xmlns:xsi="${SCHEMA}" xsi:type="CanonicalUser">` +
    `${textElement("ID", canonicalId(call))}</Grantee>`;
  const grant = element("Grant", grantee, textElement("Permission", "FULL_CONTROL"));
  const content = ownerElement(call) + element("AccessControlList", grant);
  return xmlReply("AccessControlPolicy", content);
}
