# Outbox: the table in which producers record what they send.
#   O1. Keys and time to live are those that the outbox creates itself. The item with the schema version lets
#       producers start without the right to create tables.
#   O2. A lost outbox means that events are lost or sent again, so it is backed up and protected
#       against deletion.

resource "aws_dynamodb_table" "this" {
  #checkov:skip=CKV_AWS_119:DynamoDB encrypts with a key of its own by default; set key_arn to use a customer key.
  name                        = var.name
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "pk"
  range_key                   = "sk"
  deletion_protection_enabled = true # O2

  attribute {
    name = "pk"
    type = "S"
  }

  attribute {
    name = "sk"
    type = "S"
  }

  ttl {
    attribute_name = "ttl"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true # O2
  }

  server_side_encryption {
    enabled     = var.key_arn != null
    kms_key_arn = var.key_arn
  }
}

resource "aws_dynamodb_table_item" "version" {
  table_name = aws_dynamodb_table.this.name
  hash_key   = aws_dynamodb_table.this.hash_key
  range_key  = aws_dynamodb_table.this.range_key

  item = jsonencode({
    pk          = { S = "meta#outbox" } # O1
    sk          = { S = "meta" }
    version     = { N = "3" }
    readersFrom = { N = "2" }
    writersFrom = { N = "2" }
    listing     = { BOOL = false }
  })

  lifecycle {
    ignore_changes = [item] # A later release of Tidegate may raise the version.
  }
}
