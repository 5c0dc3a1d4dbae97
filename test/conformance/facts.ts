// Facts: observable behaviour of AWS, numbered, each in one sentence of our own. A test title
// starts with the numbers of the facts that the test shows, `[12]`; facts.test.ts keeps both in
// step.
//   N1. A number never changes its meaning and is never reused.
//   N2. A fact on which we differ names its row in docs/reference/aws-differences.md, by the first
//       cell of that row. A fact that we follow in part may have both a test and a row.

export interface Fact {
  readonly number: number;
  readonly text: string;
  /** outside: clients can observe it. inside: only our code can. differs: we behave differently. */
  readonly scope: "outside" | "inside" | "differs";
  readonly difference?: string;
}

function outside(number: number, text: string, difference?: string): Fact {
  return { number, text, scope: "outside", ...(difference !== undefined && { difference }) };
}

function differs(number: number, text: string, difference: string): Fact {
  return { number, text, scope: "differs", difference };
}

const STALE_DELETE =
  "`DeleteMessage` on a standard queue with the handle of an earlier receive, after the message was received again";

const PROTOCOL: readonly Fact[] = [
  outside(1, "A JSON call is a POST to / whose X-Amz-Target header names the action."),
  outside(2, "A JSON call may be sent to a queue's path and gets a JSON response."),
  outside(3, "Responses have x-amzn-RequestId and the JSON 1.0 content type, and no checksum."),
  outside(4, "An action without output has an empty body; empty output is an empty object."),
  outside(5, "A JSON fault has a namespaced type, a message, and its legacy code in a header."),
  outside(6, "Every fault has one shape, one legacy code and one status."),
  outside(7, "SDKs choose the exception by the shape and also expose the legacy code."),
  differs(8, "Requests with missing or wrong credentials are refused.", "Credentials"),
  outside(9, "A missing or empty QueueUrl means a queue that does not exist."),
  outside(10, "A fault of the query protocol is XML with type, code, message and empty detail."),
  outside(11, "The two protocols have different messages for a missing queue."),
  outside(12, "A queue's URL accepts only queue actions, also by GET."),
  outside(13, "The query protocol answers in its own JSON format if the request accepts JSON."),
  outside(14, "The query protocol flattens lists and maps under their own names."),
  outside(15, "A carriage return in a body is preserved in both protocols."),
  outside(16, "The bare name of a queue is accepted as its URL."),
  outside(17, "SDKs call the host of a queue's URL, and verify checksums on send and receive."),
  outside(18, "Paths contain the account; queues of another account are refused.", "Accounts"),
];

const CHECKSUMS: readonly Fact[] = [
  outside(19, "The checksum of attributes covers sorted names, full types, kinds and values."),
  outside(20, "System attributes have their own checksum and are not part of the other."),
  outside(21, "On receive the checksum covers the returned attributes, and is absent without any."),
  outside(22, "Attributes are requested by name, by prefix, or all in three spellings."),
  outside(23, "JSON merges the two lists of system attributes; in query the older list wins."),
];

const QUEUES: readonly Fact[] = [
  outside(24, "Names have 1 to 80 letters, digits, hyphens and underscores; .fifo means FIFO."),
  outside(25, "Attributes of FIFO queues are refused on standard queues."),
  outside(26, "The type of a queue cannot be changed."),
  outside(27, "Creating a queue that exists succeeds unless a given attribute differs."),
  outside(28, "The name of a deleted queue is blocked for 60 seconds."),
  outside(29, "Numeric attributes have ranges and defaults."),
  outside(30, "All returns every attribute with a default, and others only if set."),
  outside(31, "An empty list of names requests no attributes; an unknown name is refused."),
  outside(32, "An empty value removes a policy."),
  outside(33, "A customer key turns managed encryption off; setting both is refused."),
  outside(34, "A redrive policy is validated when set, and returned with its count as a number."),
  outside(35, "A redrive allow policy decides which queues may use the queue as their target."),
  outside(36, "A changed delay applies to messages already sent on FIFO queues only."),
  outside(37, "Permissions are statements of the queue's policy, under labels."),
  outside(38, "Tags may be empty and are case-sensitive; without tags the field is absent."),
];

const SENDING: readonly Fact[] = [
  outside(39, "A message needs a non-empty body."),
  outside(40, "Bodies and attributes contain only characters that XML allows."),
  outside(41, "A message's size is its body plus names, types and values of its attributes."),
  outside(42, "A message has at most ten attributes, with rules for names, types and values."),
  outside(43, "The trace header of a request becomes a system attribute of its messages."),
  outside(44, "Standard queues refuse deduplication ids and accept group ids."),
  outside(45, "Only FIFO queues return a sequence number on send."),
  outside(46, "A batch that is empty, too big, or has invalid ids is refused as a whole."),
  outside(47, "A FIFO batch in which an entry lacks its ids is refused as a whole."),
  outside(48, "A failure of one entry is reported for that entry, with a short code."),
  outside(49, "The response to a batch omits an empty list."),
  outside(50, "The limit of a whole batch does not depend on the queue's own limit."),
];

const RECEIVING: readonly Fact[] = [
  outside(51, "A receive asks for 1 to 10 messages and waits 0 to 20 seconds."),
  outside(52, "A long poll ends when the first message becomes available for any reason."),
  outside(53, "A receive may set its own visibility timeout, including zero."),
  outside(54, "Each receive has its own handle, valid for one queue; others are refused."),
  outside(55, "On standard queues a handle still deletes after its timeout.", STALE_DELETE),
  outside(56, "On FIFO queues a handle does not delete after its timeout."),
  outside(57, "The latest handle of a message can hide it again after its timeout."),
  outside(58, "On standard queues an older handle still changes visibility."),
  outside(59, "The visibility of a deleted message cannot be changed."),
  outside(60, "A message is hidden for at most 12 hours, and a change applies to one receive."),
  outside(
    61,
    "In-flight messages are limited: above that, standard queues refuse, FIFO returns none.",
  ),
  outside(62, "Each message has its receive count, its timestamps and its sender.", "`SenderId`"),
  outside(63, "Messages behind a blocked group still count as visible."),
  outside(64, "Retention counts from sending, in flight or not, by the current setting."),
  outside(65, "A purge deletes everything and all deduplication ids, once a minute at most."),
];

const FIFO: readonly Fact[] = [
  outside(66, "A FIFO message needs a group, and an id or content-based deduplication."),
  outside(67, "A FIFO message cannot have its own delay; the queue's delay applies."),
  outside(68, "A duplicate within 5 minutes gets the response of the original."),
  outside(69, "Deduplication ids apply per queue, or per group if the queue is created so."),
  outside(70, "The content-based id is the SHA-256 of the body; an explicit id overrides it."),
  outside(71, "A throughput limit per group needs deduplication per group."),
  outside(72, "Sequence numbers have 20 digits and increase."),
  outside(73, "A receive takes as many messages as it can from one group, then from the next."),
  outside(74, "A group is blocked until all its messages in flight are deleted or visible again."),
  outside(75, "A message whose timeout expires is redelivered before later ones of its group."),
  outside(76, "An extended message blocks itself and later messages, not earlier ones."),
  outside(77, "Returning the first message of a group makes only that message available."),
  outside(78, "A receive can be retried by its attempt id until one of its messages changes."),
  outside(79, "Moving a message to the dead-letter queue unblocks its group."),
];

const DEAD_LETTERS: readonly Fact[] = [
  outside(80, "The receive that would exceed the count moves the message."),
  outside(81, "A dead letter keeps its content and has the ARN of its source."),
  outside(82, "A standard dead letter keeps its age; the age of a FIFO one restarts."),
  outside(
    83,
    "A FIFO dead letter's deduplication id is its message id; its sequence number is new.",
  ),
  outside(84, "A move task needs a dead-letter queue, which has one active task at a time."),
  outside(85, "A moved message is a new message, by default in its original source."),
  outside(86, "Move tasks are listed newest first, with a handle while they run."),
  outside(87, "A task handle is base64 of JSON; malformed handles and unknown tasks differ."),
  outside(88, "On standard queues, noisy groups are served after quiet ones."),
];

const TOPICS: readonly Fact[] = [
  outside(89, "SNS uses the query protocol; some of its actions have a result, some have none."),
  outside(90, "A message with its attributes has at most 256 KiB, and so has a whole batch."),
  outside(91, "A notification has its keys in a fixed order, and bytes in base64."),
  outside(92, "A FIFO topic's notification has its own sequence number and no signature."),
  outside(93, "Raw delivery sends only the message; a queue also gets its attributes."),
  outside(94, "The types of topic and queue decide which of group and id are passed on."),
  outside(95, "FIFO queues require FIFO topics, which need a group and an id."),
  outside(96, "A FIFO topic deduplicates itself, and all its queues get the same order."),
  outside(97, "Subscribing again returns the same subscription; only the queue's ARN is checked."),
  outside(98, "Creating and deleting are idempotent; unknown and malformed ARNs are refused."),
  outside(99, "Messages per protocol need a default; message and subject must not be empty."),
  outside(100, "A filter's scope is returned only with a filter; flags are exactly true or false."),
  outside(
    101,
    "Filter policies have at most 5 keys, 150 combinations and a fixed set of operators.",
  ),
  outside(102, "A filter on the body matches only JSON objects, flattened, with arrays expanded."),
  outside(103, "Messages that cannot be delivered go to the subscription's dead-letter queue."),
  outside(104, "Failed deliveries are retried by policy; refused ones are not."),
  outside(105, "An http endpoint must confirm first; headers have the type of each request."),
  outside(106, "Notifications are signed with RSA over some of their keys, with SHA-1 or SHA-256."),
  outside(107, "The trace header of a publish becomes that of the message in the queue."),
];

const BUCKETS: readonly Fact[] = [
  outside(
    108,
    "S3 events have eventVersion 2.6; it is configurable, because consumers see others.",
  ),
  outside(109, "A record has source, region, time, name, user, address, both ids and the object."),
  outside(110, "The record of a copy has hasObjectAnnotation false; ETags have no quotes."),
  outside(
    111,
    "Delete events have no size or ETag, markers the ETag of an empty object, tags no sequencer.",
  ),
  outside(112, "versionId is present only for versions that have an id."),
  outside(
    113,
    "Keys are form-encoded in S3 events, except the slash, and raw in EventBridge events.",
  ),
  outside(
    114,
    "Filters match the raw key; rule names are case-insensitive and returned capitalized.",
  ),
  outside(115, "Sequencers are hex and increase per key; only puts and deletes have one."),
  outside(116, "A new destination gets a test event, which has no records."),
  outside(117, "Invalid ARNs, missing or FIFO targets, unknown events and overlaps are refused."),
  outside(118, "No configuration is an empty document; an empty one clears; ids are generated."),
  outside(119, "DeleteObjects emits one event for each key, each in its own message."),
  outside(120, "A put returns ETag, both ids, checksum and encryption; trailers are decoded."),
  outside(121, "EventBridge gets events in its own format, for the whole bucket."),
];

/** All facts, in the order of their numbers. */
export const FACTS: readonly Fact[] = [
  ...PROTOCOL,
  ...CHECKSUMS,
  ...QUEUES,
  ...SENDING,
  ...RECEIVING,
  ...FIFO,
  ...DEAD_LETTERS,
  ...TOPICS,
  ...BUCKETS,
];
