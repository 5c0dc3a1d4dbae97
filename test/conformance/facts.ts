// Facts: what AWS does that can be observed, numbered, each in a sentence of ours. Tests name the
// facts they show by number, `[12]`, at the head of their titles; facts.test.ts keeps both sides
// together.
//   N1. A number never changes its meaning and is never given to another fact.
//   N2. A fact on which we differ names its line in docs/reference/aws-differences.md, by the first
//       cell of that line. A fact that we follow in part may be shown by a test and name one, too.

export interface Fact {
  readonly number: number;
  readonly text: string;
  /** outside: a client can see it. inside: only our own code can. differs: we do otherwise. */
  readonly seen: "outside" | "inside" | "differs";
  readonly difference?: string;
}

function outside(number: number, text: string, difference?: string): Fact {
  return { number, text, seen: "outside", ...(difference !== undefined && { difference }) };
}

function differs(number: number, text: string, difference: string): Fact {
  return { number, text, seen: "differs", difference };
}

const STALE_DELETE =
  "`DeleteMessage` on a standard queue with the handle of an earlier receive, after the message was received again";

const PROTOCOL: readonly Fact[] = [
  outside(1, "A JSON call is a POST to / whose X-Amz-Target header names the action."),
  outside(2, "A JSON call may be sent to a queue's own path and is answered in JSON."),
  outside(3, "Answers carry x-amzn-RequestId and the JSON 1.0 content type, and no checksum."),
  outside(4, "Nothing to tell is an empty body; an output with nothing in it is an empty object."),
  outside(5, "A JSON fault has a namespaced type, a message, and its older code in a header."),
  outside(6, "Every fault has one shape, one older code and one status."),
  outside(7, "SDKs choose the exception by the shape and tell the older code beside it."),
  differs(8, "Requests with missing or wrong credentials are refused.", "Credentials"),
  outside(9, "A QueueUrl that is missing or empty is a queue that does not exist."),
  outside(10, "A fault of the query protocol is XML with type, code, message and empty detail."),
  outside(11, "The two protocols word the absence of a queue differently."),
  outside(12, "A queue's URL takes the actions that concern a queue by GET, and only those."),
  outside(13, "The query protocol answers in JSON to those who accept it, in a form of its own."),
  outside(14, "The query protocol flattens lists and maps under names of their own."),
  outside(15, "A carriage return in a body comes back as one, in both protocols."),
  outside(16, "The bare name of a queue will do where a URL is asked for."),
  outside(17, "SDKs call the host of a queue's URL, and check the sums of what they send and get."),
  outside(18, "Paths carry the account; what is another account's is refused.", "Accounts"),
];

const CHECKSUMS: readonly Fact[] = [
  outside(19, "The sum over attributes covers sorted names, full types, kinds and values."),
  outside(20, "System attributes have a sum of their own, and no part in the other."),
  outside(21, "On receive the sum covers the attributes told, and is absent where none are."),
  outside(22, "Attributes are asked for by name, by prefix, or all, in three spellings."),
  outside(23, "The two lists of system attributes are joined in JSON; in query the older wins."),
];

const QUEUES: readonly Fact[] = [
  outside(24, "Names have 1 to 80 letters, digits, hyphens and underscores; .fifo means FIFO."),
  outside(25, "Attributes of FIFO queues are refused on standard queues."),
  outside(26, "The type of a queue cannot be changed."),
  outside(27, "Creating a queue that exists succeeds unless a given attribute differs."),
  outside(28, "A deleted queue's name rests for sixty seconds."),
  outside(29, "Numeric attributes have ranges and defaults."),
  outside(30, "All shows every attribute with a default, and those without one only when set."),
  outside(31, "No names ask for no attributes; an unknown name is refused."),
  outside(32, "An empty value removes a policy."),
  outside(33, "A key of one's own turns the managed encryption off; both at once are refused."),
  outside(34, "A redrive policy is checked as it is set, and told with its count as a number."),
  outside(35, "A redrive allow policy decides which queues may name the queue as their target."),
  outside(36, "A changed delay holds for waiting messages on FIFO queues only."),
  outside(37, "Permissions are statements of the queue's policy, under labels."),
  outside(38, "Tags may be empty, differ by case, and are absent where there are none."),
];

const SENDING: readonly Fact[] = [
  outside(39, "A message needs a body that is not empty."),
  outside(40, "Bodies and attributes hold only the characters that XML can carry."),
  outside(41, "A message's size is its body plus names, types and values of its attributes."),
  outside(42, "Attributes are at most ten, with rules for names, types and values."),
  outside(43, "The trace header of a request becomes a system attribute of its messages."),
  outside(44, "Standard queues refuse deduplication ids and take group ids."),
  outside(45, "Only FIFO queues tell a sequence number on send."),
  outside(46, "A batch that is empty, too big, or wrong in its ids is refused as a whole."),
  outside(47, "A FIFO batch in which an entry lacks its ids is refused as a whole."),
  outside(48, "What fails in one entry is told for that entry, under short codes."),
  outside(49, "A report on a batch leaves out the list that is empty."),
  outside(50, "The limit on a whole batch does not shrink with the queue's own limit."),
];

const RECEIVING: readonly Fact[] = [
  outside(51, "A receive asks for 1 to 10 messages and waits 0 to 20 seconds."),
  outside(52, "A long poll ends with the first message that is there, however it came to be."),
  outside(53, "A receive may bring its own visibility timeout, zero included."),
  outside(54, "Each receive has its own handle, good for one queue; others are refused."),
  outside(55, "On standard queues a handle outlives its timeout for deleting.", STALE_DELETE),
  outside(56, "On FIFO queues a handle does not delete once its timeout is over."),
  outside(57, "A message that is visible again can be hidden again by its latest handle."),
  outside(58, "On standard queues an older handle still changes visibility."),
  outside(59, "The visibility of a deleted message cannot be changed."),
  outside(60, "A message is hidden for at most twelve hours, and each change is for once."),
  outside(61, "Only so many messages are in flight: beyond, standard refuses, FIFO is silent."),
  outside(62, "Each message tells its receives, its times and its sender.", "`SenderId`"),
  outside(63, "Messages behind a blocked group still count as visible."),
  outside(64, "Retention counts from sending, in flight or not, by the queue's present setting."),
  outside(65, "A purge takes everything, forgets duplicates, and is allowed once a minute."),
];

const FIFO: readonly Fact[] = [
  outside(66, "A FIFO message needs a group, and an id or content to tell duplicates by."),
  outside(67, "A FIFO message has no delay of its own; the queue's delay applies."),
  outside(68, "A duplicate within five minutes is answered as the original was."),
  outside(69, "Ids count per queue, or per group if the queue was created so."),
  outside(70, "The id of content is the SHA-256 of the body; an explicit id goes before it."),
  outside(71, "A throughput limit per group needs deduplication per group."),
  outside(72, "Sequence numbers have twenty digits and grow."),
  outside(73, "A receive takes what it can from one group, then turns to the next."),
  outside(74, "A group waits until all its messages in flight are settled."),
  outside(75, "A message whose timeout is over comes back before those behind it."),
  outside(76, "An extended message holds back itself and what follows, not what precedes."),
  outside(77, "Giving the first message back makes it, and only it, deliverable."),
  outside(78, "A receive can be repeated by its attempt id while nothing has changed."),
  outside(79, "A message that goes to the dead letters frees its group."),
];

const DEAD_LETTERS: readonly Fact[] = [
  outside(80, "The receive that would exceed the count moves the message."),
  outside(81, "A dead letter keeps what it was and tells where it came from."),
  outside(82, "A standard dead letter keeps its age; a FIFO one begins anew."),
  outside(83, "A FIFO dead letter's id is its message id, under a new sequence number."),
  outside(84, "A move task needs a dead-letter queue, and has it to itself."),
  outside(85, "A moved message is a new message, in its own source if none is named."),
  outside(86, "Move tasks are listed newest first, with a handle while they run."),
  outside(87, "A task handle is base64 of JSON; garbage and unknown tasks are told apart."),
  outside(88, "On standard queues, groups that crowd the others are served after them."),
];

const TOPICS: readonly Fact[] = [
  outside(89, "SNS speaks the query protocol; some of its actions have a result, some have none."),
  outside(90, "A message has 256 KiB with its attributes, and so have all of a batch together."),
  outside(91, "A notification has its keys in one order, with bytes in base64."),
  outside(92, "A FIFO topic's notification has a sequence number of its own and no signature."),
  outside(93, "Raw delivery sends the message bare; to a queue its attributes go along."),
  outside(94, "Group and id travel by the types of both topic and queue."),
  outside(95, "FIFO queues go with FIFO topics, which need a group and an id."),
  outside(96, "A FIFO topic deduplicates by itself, and all queues see one order."),
  outside(97, "Subscribing again is the same subscription; a queue need not exist, its ARN must."),
  outside(98, "Creating and deleting may be repeated; unknown and broken ARNs are refused."),
  outside(99, "A message for each protocol needs a default; nothing may be empty."),
  outside(100, "A filter's scope is shown with the filter only; flags are exactly true or false."),
  outside(101, "Filter policies have five keys, 150 combinations and a fixed set of operators."),
  outside(102, "A filter on the body sees JSON objects only, flattened, arrays fanned out."),
  outside(103, "What a subscriber does not take goes to the subscription's dead-letter queue."),
  outside(104, "Endpoints that fail are tried again by policy; those that refuse are not."),
  outside(105, "An http endpoint confirms first; headers tell what each request is."),
  outside(106, "Notifications are signed by RSA over some of their keys, with SHA-1 or SHA-256."),
  outside(107, "The trace header of a publish becomes that of the message in the queue."),
];

const BUCKETS: readonly Fact[] = [
  outside(108, "S3 events have eventVersion 2.6; it is configurable, as consumers see others."),
  outside(109, "A record tells source, region, time, name, who, from where, both ids, and what."),
  outside(110, "The record of a copy says that it has no annotation; ETags have no quotes."),
  outside(
    111,
    "Deletes tell neither size nor ETag, markers the ETag of nothing, tags no sequencer.",
  ),
  outside(112, "versionId is told of versions that have an id, and of no other."),
  outside(
    113,
    "Keys are form-encoded in S3 events, with the slash kept, and raw in EventBridge's.",
  ),
  outside(
    114,
    "Filters match the raw key; names of rules may have any case and come back capital.",
  ),
  outside(115, "Sequencers are hex and grow for each key; only puts and deletes have one."),
  outside(116, "A new destination gets a test event, which has no records."),
  outside(117, "Bad ARNs, missing or FIFO targets, unknown events and overlaps are refused."),
  outside(118, "No configuration is an empty document; an empty one clears; ids are made up."),
  outside(119, "Deleting many emits one event for each key, each in a message of its own."),
  outside(120, "A put tells ETag, both ids, checksum and encryption; trailers are decoded."),
  outside(121, "EventBridge gets events in a form of its own, for the whole bucket."),
];

/** Everything known, in the order of the numbers. */
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
