// HCL syntax: the tree of a Terraform file. hcl-parser.ts builds it, terraform-scope.ts evaluates
// it.

export type TerraformExpression =
  | { readonly kind: "literal"; readonly value: string | number | boolean | null }
  | { readonly kind: "template"; readonly parts: readonly TerraformExpression[] }
  | { readonly kind: "list"; readonly items: readonly TerraformExpression[] }
  | {
      readonly kind: "object";
      readonly entries: readonly {
        readonly key: TerraformExpression;
        readonly value: TerraformExpression;
      }[];
    }
  | {
      readonly kind: "call";
      readonly name: string;
      readonly arguments: readonly TerraformExpression[];
    }
  /** `aws_sqs_queue.orders.arn`: the words, without indexes. */
  | { readonly kind: "reference"; readonly path: readonly string[] }
  | { readonly kind: "member"; readonly of: TerraformExpression; readonly key: TerraformExpression }
  | {
      readonly kind: "condition";
      readonly test: TerraformExpression;
      readonly then: TerraformExpression;
      readonly otherwise: TerraformExpression;
    }
  | {
      readonly kind: "operation";
      readonly operator: string;
      readonly left: TerraformExpression;
      readonly right: TerraformExpression;
    }
  /** `[for k, v in list : value if test]`; an object if it has a key. */
  | {
      readonly kind: "for";
      /** One name for the values, or two for keys and values. */
      readonly names: readonly string[];
      readonly of: TerraformExpression;
      readonly key: TerraformExpression | null;
      readonly value: TerraformExpression;
      readonly test: TerraformExpression | null;
    }
  /** A splat or a template directive: its value is not computed. */
  | { readonly kind: "opaque" };

export interface HclAttribute {
  readonly name: string;
  readonly value: TerraformExpression;
  readonly line: number;
}

export interface HclBlock {
  readonly type: string;
  readonly labels: readonly string[];
  readonly body: HclBody;
  readonly line: number;
}

export interface HclBody {
  readonly attributes: readonly HclAttribute[];
  readonly blocks: readonly HclBlock[];
}

/** The text is not HCL; the message says what is wrong at which line. */
export class HclSyntaxError extends Error {
  override readonly name = "HclSyntaxError";
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}
