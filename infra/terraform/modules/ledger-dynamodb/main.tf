# Ledger: the table in which Tidegate records what was processed.
#   L1. Keys, indexes and time to live are those that `tidegate ledger init` creates. The item with
#       the schema version lets consumers start without the right to create tables.
#   L2. A lost ledger means that duplicates are processed again, so it is backed up and protected
#       against deletion.

locals {
  # Indexes of listed records, and the attribute that orders each. A ledger keeps lists from its
  # creation on, or never: changing var.listing later needs a new table.
  lists = {
    for name, attribute in {
      records-by-commit-time = "lco"
      records-by-event-time  = "lev"
      records-by-object      = "lob"
    } : name => attribute if var.listing
  }
}

resource "aws_dynamodb_table" "this" {
  #checkov:skip=CKV_AWS_119:DynamoDB encrypts with a key of its own by default; set key_arn to use a customer key.
  name                        = var.name
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "pk"
  deletion_protection_enabled = true # L2

  attribute {
    name = "pk"
    type = "S"
  }

  attribute {
    name = "np"
    type = "S"
  }

  attribute {
    name = "nm"
    type = "S"
  }

  dynamic "attribute" {
    for_each = var.listing ? concat(["lp"], values(local.lists)) : []

    content {
      name = attribute.value
      type = "S"
    }
  }

  global_secondary_index {
    name            = "notes"
    hash_key        = "np"
    range_key       = "nm"
    projection_type = "KEYS_ONLY"
  }

  dynamic "global_secondary_index" {
    for_each = local.lists

    content {
      name            = global_secondary_index.key
      hash_key        = "lp"
      range_key       = global_secondary_index.value
      projection_type = "KEYS_ONLY"
    }
  }

  ttl {
    attribute_name = "ttl"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true # L2
  }

  server_side_encryption {
    enabled     = var.key_arn != null
    kms_key_arn = var.key_arn
  }
}

resource "aws_dynamodb_table_item" "version" {
  table_name = aws_dynamodb_table.this.name
  hash_key   = aws_dynamodb_table.this.hash_key

  item = jsonencode({
    pk          = { S = "meta#ledger" } # L1
    version     = { N = "5" }
    readersFrom = { N = "4" }
    writersFrom = { N = "4" }
    listing     = { BOOL = var.listing }
  })

  lifecycle {
    ignore_changes = [item]
  }
}
