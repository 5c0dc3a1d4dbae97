// Unknown: the value of a setting that cannot be read, such as a Terraform variable without a
// default. It is a symbol, so that it never equals a value.

export const UNKNOWN = Symbol("unknown");
