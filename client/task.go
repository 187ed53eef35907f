package client

import "encoding/json"

// MaxBatch is the largest number of tasks, merchants or orders of one call.
const MaxBatch = 1000

// A CreateTask requests a task. Queue is always required. Durations are texts such as "15s",
// "1h30m" or "1d".
//
// A queue of kind notify requires URL, unless the queue or the merchant has an address.
//
// A queue of kind order requires MerchantNo and OrderNo. It also takes Key, Event, ChannelOrderNo,
// Account, Amount, Currency, OrderCreated, Expires or ExpiresAt, CodeLife, Vars, Notify, Due or
// Delay, Schedule and Timeout, and no other field.
//
// A queue of kind poll requires MerchantNo, and RefNo unless the queue requests the refund. It also
// takes OrderNo, Key, Event, ChannelOrderNo, Account, Vars, Notify, Due or Delay, Schedule and
// Timeout, and no other field.
type CreateTask struct {
	Queue string `json:"queue" minLength:"1" maxLength:"128" doc:"The queue, whose rules hold for the task."`
	Key   string `json:"key,omitempty" maxLength:"255" doc:"The caller's idempotency key, unique within its queue, at most 255 bytes. The same key with other content is 409. Default for an order: merchant_no/order_no; for a poll: merchant_no/order_no/ref_no."`

	MerchantNo string `json:"merchant_no,omitempty" maxLength:"128"`
	OrderNo    string `json:"order_no,omitempty" maxLength:"128"`
	RefNo      string `json:"ref_no,omitempty" maxLength:"128" doc:"Poll: the number of the refund, transfer or profit sharing at the channel. Default, if the queue requests the refund: the order's number at the channel and -R1; of a duplicate payment -D and a hash of its transaction_id."`
	Event      string `json:"event,omitempty" maxLength:"128"`

	URL     string            `json:"url,omitempty" maxLength:"2000" doc:"Destination of the request. Required unless the merchant or the queue has an address."`
	Method  string            `json:"method,omitempty" maxLength:"16" doc:"Default POST."`
	Headers map[string]string `json:"headers,omitempty" doc:"At most 64, of 8,192 bytes each."`
	Body    string            `json:"body,omitempty" doc:"Body of the request as text: at most 262,144 bytes of UTF-8 after unescaping the JSON; more is 413. Not together with json."`
	JSON    json.RawMessage   `json:"json,omitempty" doc:"Body of the request as a JSON value, sent byte for byte as given: at most 262,144 bytes; more is 413. Sets Content-Type to application/json unless headers has one. Not together with body."`

	Due   Time   `json:"due,omitzero" format:"date-time" doc:"Start of the schedule. A schedule whose first item is not 0s adds that item before the first attempt. Not together with delay. Default: the queue's delay, or now."`
	Delay string `json:"delay,omitempty" maxLength:"64" example:"15s" doc:"Delay before the schedule begins, at most 3650d. 0s means now, whatever the queue's delay. A schedule whose first item is not 0s adds that item before the first attempt."`

	Schedule string `json:"schedule,omitempty" maxLength:"4000" example:"0s, 15s*2, 30s" doc:"Schedule: the name of a preset, or a text; default: the queue's."`
	Success  string `json:"success,omitempty" maxLength:"4000" example:"success_text" doc:"Success rule: the name of a preset, or an expression; default: the queue's."`
	Timeout  string `json:"timeout,omitempty" maxLength:"64" example:"5s" doc:"Timeout of one attempt; default: the queue's."`
	MaxAge   string `json:"max_age,omitempty" maxLength:"64" example:"24h" doc:"Age limit: if the next attempt would be due later after the schedule began, the task ends. An attempt that was due in time is made even if it is late, after downtime or a pause. A manual attempt is always made."`
	Repeat   string `json:"repeat,omitempty" maxLength:"200" example:"10m" doc:"A duration, or cron and an expression: the task starts again after it has ended, until it is cancelled. The first round begins by due and delay, so now if neither is given, also with cron."`

	OrderingKey string `json:"ordering_key,omitempty" maxLength:"255" doc:"Tasks of a queue with the same ordering key are attempted in the order of creation, each after the one before has ended. At most 255 bytes. Not together with repeat, and not for an order."`
	Supersedes  bool   `json:"supersedes,omitempty" doc:"Ends the earlier waiting tasks of its ordering key instead of waiting for them: they are cancelled with reason superseded and cannot be resent."`

	Resume *Resume `json:"resume,omitempty" doc:"State of the task in another system, from which the schedule goes on. Not together with due or delay, and not for an order."`

	OrderCreated Time `json:"order_created,omitzero" format:"date-time" doc:"Order: creation time at the channel. expires, code_life and the age from which the channel allows closing count from it. At most 31 days ago and a minute ahead, by the server's clock. Default: when bellman received the order."`

	ChannelOrderNo string `json:"channel_order_no,omitempty" maxLength:"128" doc:"Order or poll: the number by which the channel knows the order (out_trade_no). Of an order it is unique within its account; default: order_no. Of a refund the default is the number of the order that bellman knows under merchant_no and order_no in the same account, or else order_no."`
	Account        string `json:"account,omitempty" maxLength:"128" doc:"Order or poll: the registered account at the channel; default: the queue's own."`
	Amount         int64  `json:"amount,omitempty" minimum:"1" example:"8800" doc:"Order: what it costs, in the smallest unit of currency. A payment of another amount makes the order UNKNOWN, never PAID. Default: any amount is accepted."`
	Currency       string `json:"currency,omitempty" minLength:"3" maxLength:"3" example:"CNY" doc:"Order: the ISO 4217 code of amount. Required with amount."`
	ExpiresAt      Time   `json:"expires_at,omitzero" format:"date-time" doc:"Order: when the close protocol begins if nobody has paid. Not together with expires."`

	Expires  string            `json:"expires,omitempty" maxLength:"64" example:"30m" doc:"Order: how long after its creation the close protocol begins if nobody has paid; default: the queue's."`
	CodeLife string            `json:"code_life,omitempty" maxLength:"64" example:"2h" doc:"Order: how long after its creation the payer can use the code or page. If the channel did not know the order when it was closed, a late payment is polled for until then; default: the queue's."`
	Vars     map[string]string `json:"vars,omitempty" doc:"Order or poll: values for the queue's templates, {vars.NAME}, or for its channel. At most 64, of 4,000 characters each; names of letters, digits and _."`
	Notify   *Notify           `json:"notify,omitempty" doc:"Order or poll: the notification of the merchant about the result."`
}

// A Notify says how a merchant is notified how an order, refund or transfer ended.
type Notify struct {
	URL  string          `json:"url,omitempty" maxLength:"2000" doc:"Destination of the notification; default: the address of the merchant, or else the url of the notify queue."`
	JSON json.RawMessage `json:"json,omitempty" doc:"An object with fields of the notification. order_no, the state and the queue's fields of the channel's answer are added."`
}

// A Resume is the state of a task in another system.
type Resume struct {
	Attempts int  `json:"attempts" minimum:"1" doc:"Number of attempts."`
	Last     Time `json:"last,omitzero" required:"true" format:"date-time" doc:"When the last of these attempts began."`
	Began    Time `json:"began,omitzero" format:"date-time" doc:"When the first attempt was due, for a schedule with an age or with offsets; default: last."`
}

// A Task is a task in answers.
type Task struct {
	ID    string `json:"id" format:"uuid"`
	Queue string `json:"queue"`
	Kind  string `json:"kind" doc:"Kind of the queue's tasks: notify, order or poll."`
	Key   string `json:"key"`

	MerchantNo string `json:"merchant_no"`
	OrderNo    string `json:"order_no"`
	Event      string `json:"event"`
	URL        string `json:"url"`
	Method     string `json:"method" doc:"Empty for an order or poll."`

	State       string `json:"state" enum:"pending,succeeded,failed,cancelled"`
	Reason      string `json:"reason" doc:"Why it ended: accepted, attempts_used_up, max_age, gave_up, callback, superseded, …; empty while it is pending."`
	Attempts    int    `json:"attempts" doc:"Attempts so far, with any trigger."`
	Step        int    `json:"step" doc:"Attempts that count for the schedule since it began. Manual attempts do not count, and neither does the attempt that ended the task."`
	MaxAttempts *int   `json:"max_attempts" doc:"Number of attempts that the schedule allows; null if it has no end, and for an order or poll, which is polled until it is decided."`

	Due      *Time `json:"due" format:"date-time" doc:"Earliest time of the next attempt; null when it ended."`
	Created  Time  `json:"created" format:"date-time"`
	Updated  Time  `json:"updated" format:"date-time"`
	Finished *Time `json:"finished" format:"date-time" doc:"null while it is pending."`

	Schedule string `json:"schedule"`
	Success  string `json:"success,omitempty"`
	Timeout  string `json:"timeout,omitempty"`
	MaxAge   string `json:"max_age,omitempty"`
	Repeat   string `json:"repeat,omitempty"`

	OrderingKey string `json:"ordering_key,omitempty" doc:"It is attempted after the earlier tasks of its queue with the same ordering key."`
	Supersedes  bool   `json:"supersedes,omitempty" doc:"It ends waiting tasks of its ordering key instead of waiting for them."`

	CreatedBy string `json:"created_by,omitempty" doc:"Name of the API key that created the task; absent for follow-up tasks and tasks from a broker."`

	OrderState  string `json:"order_state,omitempty" enum:"PENDING,PAID,PAID_REFUNDED,CLOSED,REVOKED,FAILED,UNKNOWN" doc:"Order: its state. UNKNOWN: the channel never decided it, and an alert was sent."`
	LatePayment string `json:"late_payment,omitempty" enum:"PAID,PAID_REFUNDED" doc:"Order: a payment after the order was decided otherwise, as the channel reports it. The decided state stays."`

	Payment *Payment `json:"payment,omitempty" doc:"Order: the payment that decided it, or came late; absent: none is known."`

	RefNo     string `json:"ref_no,omitempty" doc:"Poll: the number of the refund, transfer or profit sharing at the channel."`
	PollState string `json:"poll_state,omitempty" enum:"PENDING,DONE,FAILED_THERE,UNKNOWN" doc:"Poll: its state. DONE: the money arrived. FAILED_THERE: the channel ended it without success. UNKNOWN: the task was cancelled before."`

	AtChannel *AtChannel `json:"at_channel,omitempty" doc:"Poll: what the channel said about the refund, transfer or profit sharing when it was decided; absent: nothing."`

	Last *LastAttempt `json:"last" doc:"The newest attempt; null before the first."`
}

// An AtChannel is what the channel said about a refund, transfer or profit sharing, in one form for
// all channels. A field that it did not say is absent.
type AtChannel struct {
	RefNo      string `json:"channel_ref_no,omitempty" doc:"The channel's number of it."`
	State      string `json:"channel_state,omitempty" doc:"Its state in the channel's words."`
	FailReason string `json:"fail_reason,omitempty" doc:"Why it failed, in the channel's words."`
	Amount     int64  `json:"amount,omitempty" doc:"In the smallest unit of its currency; absent: not said, or 0."`
	Currency   string `json:"currency,omitempty" doc:"ISO 4217."`
	FinishedAt Time   `json:"finished_at,omitzero" format:"date-time" doc:"When the channel finished it."`
}

// A LastAttempt is the newest attempt of a task, in short.
type LastAttempt struct {
	Number  int    `json:"number"`
	Trigger string `json:"trigger" enum:"schedule,manual,settle,takeover" doc:"Trigger of the attempt."`
	Action  string `json:"action,omitempty" doc:"Action of an attempt of an order: query, close or reverse; of a poll: announce, request or query."`
	Reading string `json:"reading,omitempty" doc:"Order or poll: how the answer was read; see reading of an attempt."`
	Result  string `json:"result" enum:"accepted,refused,error_status,unreachable,timeout,blocked,unknown"`
	Status  int    `json:"status" doc:"HTTP status; 0: no answer."`
	Error   string `json:"error"`
	Started Time   `json:"started" format:"date-time"`
}

// A TaskDetail is a task with its request and attempts.
type TaskDetail struct {
	Task
	WaitsFor   string    `json:"waits_for,omitempty" format:"uuid" doc:"The task of the same ordering key that must end first."`
	Request    Request   `json:"request"`
	AttemptLog []Attempt `json:"attempt_log" nullable:"false" doc:"Ordered by number: the newest 200, or the 200 after attempts_after."`
}

// A Request is the request of a task.
type Request struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers" doc:"The sent headers. *** replaces all values, except those of headers that are known to carry no credentials, such as Content-Type."`
	Body    string            `json:"body"`

	OrderCreated Time `json:"order_created,omitzero" format:"date-time" doc:"Order: as given, or when bellman received the order."`

	ChannelOrderNo string `json:"channel_order_no,omitempty" doc:"Order: the number by which the channel knows it."`
	Account        string `json:"account,omitempty" doc:"Order or poll: the account at the channel; absent: the queue's own."`
	Amount         int64  `json:"amount,omitempty" doc:"Order: what it costs, in the smallest unit of currency."`
	Currency       string `json:"currency,omitempty" doc:"Order: the ISO 4217 code of amount."`

	Expires  string            `json:"expires,omitempty" doc:"Order: as requested, or until expires_at."`
	CodeLife string            `json:"code_life,omitempty" doc:"Order: as requested."`
	Vars     map[string]string `json:"vars,omitempty" doc:"Order or poll: as requested."`
	Notify   *Notify           `json:"notify,omitempty" doc:"Order or poll: as requested."`
}

// An Attempt is one try, answered or not.
type Attempt struct {
	Number     int    `json:"number" doc:"1 for the first."`
	Trigger    string `json:"trigger" enum:"schedule,manual,settle,takeover" doc:"Trigger of the attempt."`
	Due        Time   `json:"due" format:"date-time"`
	Started    Time   `json:"started" format:"date-time"`
	LatenessMS int64  `json:"lateness_ms" doc:"Started minus due, never negative."`
	TookMS     int64  `json:"took_ms" doc:"From the start to the last byte, or to the timeout."`
	Timing     Timing `json:"timing,omitzero" doc:"Parts of took_ms; absent if none was measured, as for requests to a channel."`
	Action     string `json:"action,omitempty" doc:"The action of the attempt, if tasks of the queue have several: query, close, …"`
	Reading    string `json:"reading,omitempty" doc:"How the answer was read. Order, query: PENDING, NOT_FOUND, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED, or QUERY_ERROR if the answer says nothing about the order or is missing. Close or reverse: closed, already_closed, paid_hint, in_flight, not_exist, unknown; refunded: reversed after it was paid. Poll: PENDING, NOT_FOUND, DONE, FAILED_THERE or QUERY_ERROR; of a request: accepted, refused or unknown."`
	Result     string `json:"result" enum:"accepted,refused,error_status,unreachable,timeout,blocked,unknown"`
	Status     int    `json:"status" doc:"HTTP status; 0: no answer."`
	Response   string `json:"response" doc:"The answer, cut at 600 characters."`
	Error      string `json:"error"`
	Node       string `json:"node"`

	ResponseHeaders map[string]string `json:"response_headers,omitempty" doc:"The header of an answer that was not accepted, 1,024 characters in all. Fields that may hold credentials, such as Set-Cookie, are never kept. *** stands for a value that is masked."`

	Sent *Sent `json:"sent,omitempty" doc:"Only if the attempt was asked for by its number."`
}

// A Sent is the request of an attempt of a notification, built again from its task and the rules
// that hold now. Requests are not kept. Secrets are masked as in Request.
type Sent struct {
	Method  string            `json:"method,omitempty" doc:"Absent: a message to a broker."`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty" doc:"Those of the signature have the value ***, because signatures are not kept."`
	Body    string            `json:"body,omitempty"`

	Success string `json:"success,omitempty" doc:"The rule that judges the answer."`
	Accepts string `json:"accepts,omitempty" doc:"The answers that the rule accepts, in words; absent: the rule is an expression."`

	SignScheme string `json:"sign_scheme,omitempty" doc:"The scheme of the signature; absent: the request is not signed."`
	Signed     string `json:"signed,omitempty" doc:"The text that is signed. *** stands for the secret, and NONCE for a random part. Its time is the second in which the attempt started; the attempt may have signed in the next."`

	Missing string `json:"missing,omitempty" doc:"Why the request cannot be built again; then the other fields are absent."`
}

// Timing is how long the parts of a request took, to the microsecond. A part that did not happen is
// 0: a reused connection needs no DNS, connect or TLS.
type Timing struct {
	DNSMS       float64 `json:"dns_ms" doc:"DNS lookup."`
	ConnectMS   float64 `json:"connect_ms" doc:"TCP connection, to the proxy if there is one."`
	TLSMS       float64 `json:"tls_ms" doc:"TLS handshake."`
	FirstByteMS float64 `json:"first_byte_ms,omitempty" doc:"From the open connection to the first byte of the answer. Absent: none came, or an older version made the attempt."`
}

// A Batch requests many tasks at once.
type Batch struct {
	Tasks  []CreateTask `json:"tasks" nullable:"false" minItems:"1" maxItems:"1000"`
	DryRun bool         `json:"dry_run,omitempty" doc:"Dry run: nothing is created. A task that would be created has an id of zeros. A key that is in the batch twice exists for the second task, without an id."`
}

// Batched is the answer to a Batch: one result per task, in order.
type Batched struct {
	Results []BatchResult `json:"results" nullable:"false"`
}

// A BatchResult is the result for one task of a batch.
type BatchResult struct {
	Status int      `json:"status" doc:"201: created. 200: the key exists with the same content. Otherwise see error."`
	Task   *Task    `json:"task,omitempty"`
	Error  *Problem `json:"error,omitempty"`
}

// A TaskPage is a page of a list of tasks, newest first.
type TaskPage struct {
	Tasks      []Task `json:"tasks" nullable:"false"`
	NextCursor string `json:"next_cursor" doc:"Cursor of the next page; empty only at the end. A page with few tasks, or none, may be followed by another."`
	Warning    string `json:"warning,omitempty" doc:"Why the list may be empty by mistake: no queue has the requested name."`
}

// A Filter selects tasks. Empty fields select all.
type Filter struct {
	Queue       string `json:"queue,omitempty" maxLength:"128"`
	State       string `json:"state,omitempty" enum:"pending,succeeded,failed,cancelled"`
	MerchantNo  string `json:"merchant_no,omitempty" maxLength:"128"`
	OrderNo     string `json:"order_no,omitempty" maxLength:"128"`
	Key         string `json:"key,omitempty" maxLength:"255"`
	Event       string `json:"event,omitempty" maxLength:"128"`
	URLHost     string `json:"url_host,omitempty" maxLength:"260" doc:"Host, or host:port, of the task's URL, in upper or lower case."`
	CreatedFrom Time   `json:"created_from,omitzero" format:"date-time" doc:"Inclusive."`
	CreatedTo   Time   `json:"created_to,omitzero" format:"date-time" doc:"Exclusive."`

	// The following fields have no index: every task that matches the others is examined.
	Kind   string `json:"kind,omitempty" enum:"notify,order,poll"`
	Result string `json:"result,omitempty" enum:"accepted,refused,error_status,unreachable,timeout,blocked,unknown" doc:"Result of the last attempt."`
	Status int    `json:"status,omitempty" minimum:"100" maximum:"599" doc:"HTTP status of the last attempt's answer."`

	FinishedFrom Time `json:"finished_from,omitzero" format:"date-time" doc:"Ended at this time or later."`
}

// A ResendTask requests an attempt of one task now.
type ResendTask struct {
	Mode   string `json:"mode,omitempty" enum:"once,restart" doc:"once (default): one attempt now; the schedule does not change. restart: the schedule starts again now."`
	Reason string `json:"reason,omitempty" maxLength:"500"`
}

// A Because gives the reason for an action.
type Because struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Written to the audit record."`
}

// A CompleteTask ends a task as succeeded, because the answer came another way.
type CompleteTask struct {
	Reason  string `json:"reason,omitempty" maxLength:"500" doc:"Default callback."`
	Outcome string `json:"outcome,omitempty" maxLength:"128" example:"PAID" doc:"The answer. Required for an order: PAID, PAID_REFUNDED, CLOSED, REVOKED or FAILED; for a poll: DONE or FAILED_THERE. Without one for a notice that is held: a person has handled its payment."`

	Taken json.RawMessage `json:"taken,omitempty" doc:"Order: an object with fields of the payment for the merchant's notification: transaction_id, amount (a whole number of the smallest unit), currency (ISO 4217), paid_at, and others. An order with an amount needs amount and currency here to become PAID."`
}

// A RescheduleTask moves the next attempt to a time, or to a time from now.
type RescheduleTask struct {
	Due    Time   `json:"due,omitzero" format:"date-time"`
	Delay  string `json:"delay,omitempty" maxLength:"64" example:"15m" doc:"From now, at most 3650d."`
	Reason string `json:"reason,omitempty" maxLength:"500"`
}
