# ECS service: long-running consumers on Fargate.
#   E1. A task gets SIGTERM and has 30 s to return its messages; the consumer drains in 25 s.
#   E2. The file system is read-only: a ledger on PostgreSQL or DynamoDB leaves nothing on disk.
#   E3. Two tasks run during a deployment: leases and fences keep them apart.

data "aws_region" "current" {}

data "aws_partition" "current" {}

resource "aws_cloudwatch_log_group" "this" {
  #checkov:skip=CKV_AWS_158:CloudWatch Logs encrypts with a key of its own by default; set key_arn to use a customer key.
  name              = "/tidegate/${var.name}"
  retention_in_days = 365
  kms_key_id        = var.key_arn
}

resource "aws_iam_role" "execution" {
  name        = "${var.name}-execution"
  description = "Lets ECS pull the image and write logs; the consumer has its own role."

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Allow"
        Action    = "sts:AssumeRole"
        Principal = { Service = "ecs-tasks.amazonaws.com" }
      },
    ]
  })
}

resource "aws_iam_role_policy_attachment" "execution" {
  role       = aws_iam_role.execution.name
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"
}

resource "aws_iam_role_policy" "secrets" {
  count = length(var.secrets) > 0 ? 1 : 0
  name  = "secrets"
  role  = aws_iam_role.execution.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect = "Allow"
        Action = ["secretsmanager:GetSecretValue", "ssm:GetParameters"]
        # A reference to one key of a secret has more parts than the ARN of the secret.
        Resource = [
          for arn in values(var.secrets) :
          join(":", slice(split(":", arn), 0, min(7, length(split(":", arn)))))
        ]
      },
    ]
  })
}

resource "aws_ecs_task_definition" "this" {
  family                   = var.name
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = var.cpu
  memory                   = var.memory
  execution_role_arn       = aws_iam_role.execution.arn
  task_role_arn            = var.consumer_role_arn

  container_definitions = jsonencode([
    {
      name                   = "consumer"
      image                  = var.image
      essential              = true
      stopTimeout            = 30   # E1
      readonlyRootFilesystem = true # E2
      environment            = [for name, value in var.environment : { name = name, value = value }]
      secrets                = [for name, arn in var.secrets : { name = name, valueFrom = arn }]
      healthCheck = {
        command     = ["CMD", "node", "-e", "fetch('http://127.0.0.1:9464/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
        interval    = 30
        timeout     = 5
        retries     = 3
        startPeriod = 30
      }
      logConfiguration = {
        logDriver = "awslogs"
        options = {
          "awslogs-group"         = aws_cloudwatch_log_group.this.name
          "awslogs-region"        = data.aws_region.current.region
          "awslogs-stream-prefix" = "consumer"
        }
      }
    },
  ])
}

resource "aws_ecs_service" "this" {
  name                               = var.name
  cluster                            = var.cluster_arn
  task_definition                    = aws_ecs_task_definition.this.arn
  desired_count                      = var.desired_count
  launch_type                        = "FARGATE"
  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200 # E3

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets          = var.subnet_ids
    security_groups  = var.security_group_ids
    assign_public_ip = false
  }
}
